//! The page's script: folds families, sorts by a column, filters by name, and opens what a link leads to.

/// Runs at the page's end. It adds the controls, so that who has no scripts sees none that do nothing.
pub(super) const SCRIPT: &str = r##"
"use strict";
{
const table = document.querySelector("#summary table");
const bodies = [...table.tBodies];
const families = bodies.filter(body => body.querySelector(".family"));
const fold = (body, folded) => {
  body.classList.toggle("folded", folded);
  body.querySelector(".family button").setAttribute("aria-expanded", !folded);
};
for (const body of families) {
  const name = body.querySelector(".family .name");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = name.textContent;
  button.onclick = () => fold(body, !body.classList.contains("folded"));
  name.replaceWith(button);
  fold(body, true);
}
const heads = [...table.tHead.rows[0].cells];
const key = (row, column) => {
  const cell = row.cells[column];
  return column === 0 ? row.dataset.name : Number(cell.dataset.key);
};
const sort = (column, descending) => {
  const order = (a, b) => {
    const [one, other] = [key(a, column), key(b, column)];
    const way = typeof one === "string" ? one.localeCompare(other) : one - other;
    return descending ? -way : way;
  };
  for (const body of bodies) {
    [...body.querySelectorAll(".kernel")].sort(order).forEach(row => body.append(row));
  }
  bodies.sort((a, b) => order(a.rows[0], b.rows[0])).forEach(body => table.append(body));
  heads.forEach((head, at) => {
    if (at === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
};
heads.forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  button.onclick = () => sort(column, column === 0
    ? head.getAttribute("aria-sort") === "ascending"
    : head.getAttribute("aria-sort") !== "descending");
  head.replaceChildren(button);
});
heads[1].setAttribute("aria-sort", "descending");
const filter = document.createElement("input");
filter.type = "search";
filter.placeholder = "Filter by name";
filter.setAttribute("aria-label", "Filter kernels by name");
filter.oninput = () => {
  const wanted = filter.value.trim().toLowerCase();
  for (const body of bodies) {
    const rows = [...body.querySelectorAll(".kernel")];
    for (const row of rows) row.hidden = !row.dataset.name.toLowerCase().includes(wanted);
    body.hidden = rows.every(row => row.hidden);
    if (families.includes(body)) fold(body, wanted === "");
  }
};
const order = document.createElement("select");
order.setAttribute("aria-label", "Sort kernels by");
heads.forEach((head, column) => order.add(new Option("Sort by " + head.textContent, column)));
order.value = 1;
order.onchange = () => sort(Number(order.value), order.value !== "0");
const controls = document.createElement("div");
controls.className = "controls";
controls.append(filter, order);
table.parentElement.before(controls);
const open = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", open);
if (location.hash) open();
}
"##;
