//! The page as a browser and a screen reader meet it: well-formed, self-contained, every link leads somewhere.

use std::collections::BTreeSet;

use gpu_model::{
    chips::H200,
    occupancy::{BlockNeeds, Occupancy},
};
use report::{
    html::{Kernel, Page, SourceLine},
    profile::Profile,
};

const PROFILE: &str = r#"{"version":1,"model":"h200","view":"ptx","launches":[{
    "kernel":"transpose_<tile>","grid":[32,32,1],"block":[32,8,1],"shared_bytes":4096,"warp_instructions":900000,
    "counters":{
        "shared_load":{"instructions":32768,"wavefronts":1048576,"ideal_wavefronts":32768,"bank_conflicts":1015808},
        "global_load":{"requests":32768,"sectors":131072,"bytes":4194304}},
    "lines":[
        {"file":"src/transpose.rs","line":10,"global_load":{"requests":32768,"sectors":131072,"bytes":4194304}},
        {"file":"src/transpose.rs","line":12,
         "shared_load":{"instructions":32768,"wavefronts":1048576,"ideal_wavefronts":32768,"bank_conflicts":1015808}}],
    "not_counted":[{"family":"ldmatrix","instructions":8}]},
   {"kernel":"matmul_naive","grid":[4,4,1],"block":[16,16,1],
    "counters":{"global_load":{"requests":1000,"sectors":4000,"bytes":128000}}}]}"#;

fn page() -> String {
    let profile = Profile::parse(PROFILE).unwrap();
    let needs = BlockNeeds { threads: 256, registers_per_thread: 66, static_shared: 4096, dynamic_shared: 0 };
    let source = (9..14)
        .map(|number| SourceLine {
            file: "src/transpose.rs".into(),
            number,
            text: format!("    let x{number} = tile[a < b && c > d]; // \"{number}\""),
        })
        .collect();
    let mut launches = profile.launches.into_iter();
    let mut kernel = |family: &str| {
        let launch = launches.next().unwrap();
        (Some(family.to_owned()), launch.work(), launch)
    };
    let (transpose, matmul) = (kernel("transpose"), kernel("matmul"));
    let kernels = vec![
        Kernel {
            family: transpose.0,
            whole: transpose.1,
            launch: transpose.2,
            size: "1024×1024".into(),
            source,
            occupancy: Ok(Occupancy::new(H200.sm, needs).unwrap()),
            operations: None,
            measured: None,
        },
        Kernel {
            family: matmul.0,
            whole: matmul.1,
            launch: matmul.2,
            size: "64".into(),
            source: Vec::new(),
            occupancy: Err("the module is not loaded".into()),
            operations: Some(1e6),
            measured: None,
        },
    ];
    Page { chip: &H200, command: "warpsmith report --html FILE".into(), kernels }.render()
}

/// A start or end tag, taken from the page.
#[derive(Debug)]
struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    end: bool,
    self_closing: bool,
}

fn tags(page: &str) -> Vec<Tag<'_>> {
    let body = page.split_once("</style>").unwrap().1;
    let mut tags = Vec::new();
    let mut rest = body;
    while let Some(start) = rest.find('<') {
        let stop = rest[start..].find('>').expect("every tag is closed") + start;
        let inside = &rest[start + 1..stop];
        let (end, inside) = inside.strip_prefix('/').map_or((false, inside), |inside| (true, inside));
        let (self_closing, inside) =
            inside.strip_suffix('/').map_or((false, inside), |inside| (true, inside));
        let (name, attributes) = inside.split_once([' ', '\n']).unwrap_or((inside, ""));
        tags.push(Tag { name, attributes, end, self_closing });
        rest = &rest[stop + 1..];
    }
    tags
}

fn attribute<'a>(tag: &Tag<'a>, name: &str) -> Option<&'a str> {
    let from = tag.attributes.find(&format!("{name}=\""))? + name.len() + 2;
    tag.attributes[from..].split('"').next()
}

#[test]
fn every_element_is_closed_in_order() {
    let page = page();
    let mut open = vec!["html"];
    let head = page.split_once("<style>").unwrap().0;
    assert!(head.contains("<html lang=\"en\">"));
    for tag in tags(&page) {
        if tag.name == "head" {
            continue;
        }
        if tag.end {
            assert_eq!(open.pop(), Some(tag.name), "after {open:?}");
        } else if !tag.self_closing {
            open.push(tag.name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn links_lead_somewhere_and_names_are_unique() {
    let page = page();
    let tags = tags(&page);
    let ids: Vec<&str> = tags.iter().filter_map(|tag| attribute(tag, "id")).collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len(), "{ids:?}");
    let links: Vec<&str> = tags.iter().filter_map(|tag| attribute(tag, "href")).collect();
    assert!(links.len() >= 9, "{links:?}");
    for link in links {
        let target = link.strip_prefix('#').unwrap_or_else(|| panic!("{link} leaves the page"));
        assert!(unique.contains(target), "{link} leads nowhere");
    }
    for tag in &tags {
        if let Some(target) = attribute(tag, "aria-labelledby") {
            assert!(unique.contains(target), "label {target} is missing");
        }
    }
}

/// On a phone the head of the table is not to be seen.
#[test]
fn each_number_of_the_summary_says_what_it_is() {
    let page = page();
    let summary = page.split("<section").find(|part| part.starts_with(" id=\"summary\"")).unwrap();
    let (head, body) = summary.split_once("<tbody>").unwrap();
    let cells: Vec<&str> = body.split("<td").skip(1).collect();
    assert!(!cells.is_empty());
    for cell in cells {
        let label = cell.split("data-label=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        assert!(head.contains(&format!(">{label}</th>")), "{label} is no column");
    }
}

/// The column of names is narrow on a phone: they break at their joints, not wherever it ends.
#[test]
fn names_in_the_roofline_table_may_break_at_their_joints() {
    let page = page();
    let roofline = page.split("<section").find(|part| part.starts_with(" id=\"roofline\"")).unwrap();
    let names: Vec<&str> = roofline.split("<th scope=\"row\">").skip(1).collect();
    assert!(!names.is_empty());
    for name in names {
        let name = name.split("</th>").next().unwrap();
        assert_eq!(name.matches('_').count(), name.matches("_<wbr/>").count(), "{name}");
    }
    assert!(!page.contains("#roofline tbody th{white-space:normal;overflow-wrap:anywhere}"));
}

#[test]
fn nothing_comes_from_elsewhere() {
    let page = page();
    let without_namespace = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for foreign in ["http:", "https:", "//cdn", "@import", "url(", "<script s", "<link", "src=", "<iframe"] {
        assert!(!without_namespace.contains(foreign), "{foreign}");
    }
}

#[test]
fn readable_without_sight_mouse_or_large_screen() {
    let page = page();
    assert!(page.contains("name=\"viewport\" content=\"width=device-width, initial-scale=1\""));
    assert!(page.contains("@media (prefers-color-scheme:dark)"));
    assert!(page.contains(":focus-visible"));
    let tags = tags(&page);
    let mut level = 0;
    let mut tables = 0;
    for (index, tag) in tags.iter().enumerate().filter(|(_, tag)| !tag.end) {
        match tag.name {
            "svg" => {
                assert_eq!(attribute(tag, "role"), Some("img"));
                assert!(attribute(tag, "aria-label").is_some_and(|label| !label.is_empty()));
                assert_eq!(tags[index + 1].name, "desc");
            }
            "table" => {
                assert_eq!(tags[index + 1].name, "caption");
                tables += 1;
            }
            "th" => assert!(attribute(tag, "scope").is_some(), "a heading cell without scope"),
            "div" if attribute(tag, "class") == Some("scroll") => {
                assert_eq!(attribute(tag, "tabindex"), Some("0"), "what scrolls can be reached by keyboard");
                assert!(attribute(tag, "aria-label").is_some());
            }
            "h1" | "h2" | "h3" | "h4" | "h5" => {
                let next = u32::from(tag.name.as_bytes()[1] - b'0');
                assert!(next <= level + 1, "{} after a heading of level {level}", tag.name);
                level = next;
            }
            _ => {}
        }
    }
    assert!(tables >= 3);
    assert_eq!(tags.iter().filter(|tag| tag.name == "h1" && !tag.end).count(), 1);
}

/// A browser opens what holds the target of a link: the target must lie inside of what opens, not be it.
#[test]
fn links_to_kernels_open_what_they_lead_to() {
    let page = page();
    let mut open: Vec<&str> = Vec::new();
    let mut kernels = 0;
    for tag in tags(&page) {
        match tag.name {
            "details" if tag.end => drop(open.pop()),
            "details" => {
                assert!(attribute(&tag, "id").is_none(), "{tag:?}");
                open.push(tag.attributes);
            }
            _ if attribute(&tag, "id").is_some_and(|id| id.starts_with("kernel-")) => {
                kernels += 1;
                assert_eq!(open.len(), 2, "a family, and in it the kernel");
            }
            _ => {}
        }
    }
    assert_eq!(kernels, 2);
}

#[test]
fn what_costs_most_comes_first_and_what_is_badly_used_is_red() {
    let page = page();
    let summary = page.split("<section").find(|part| part.starts_with(" id=\"summary\"")).unwrap();
    let rows: Vec<&str> = summary.split("<tr ").skip(2).collect();
    let names: Vec<&str> =
        rows.iter().filter_map(|row| row.split("data-name=\"").nth(1)?.split('"').next()).collect();
    assert_eq!(names, ["transpose", "transpose_&lt;tile&gt;", "matmul", "matmul_naive"]);
    assert!(rows[1].contains("data-label=\"conflicts\" data-key=\"1015808\" class=\"bad\""), "{}", rows[1]);
    assert!(!rows[3].contains("class=\"bad\""), "{}", rows[3]);
    // Wavefronts and sectors are not of one unit.
    assert!(!page.contains("wavefronts and sectors"));
}

#[test]
fn the_page_shows_what_was_counted() {
    let page = page();
    for part in [
        "1,015,808 bank conflicts",
        "transpose_&lt;tile&gt;",
        "tile[a &lt; b &amp;&amp; c &gt; d]",
        "shared loads take 32.0 times the wavefronts they need",
        "64 registers a thread or fewer",
        "Not known: the module is not loaded",
        "not counted, for want of a measured rule: 8 × ldmatrix",
        "7.812 operations per byte",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("transpose_<tile>"));
}

/// Writes the page where `WARPSMITH_PAGE` says, for a look with a browser.
#[test]
fn the_page_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = std::env::var_os("WARPSMITH_PAGE").map_or(folder.path().join("page.html"), Into::into);
    std::fs::write(&file, page()).unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().ends_with("</html>\n"));
}
