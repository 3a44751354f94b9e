//! The page's style sheet, its colours from the palette.

use std::fmt::Write;

use crate::palette::{BANK_COLOURS, DARK, LIGHT, Palette};

const RULES: &str = r#"
*{box-sizing:border-box}
html{font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--text);background:var(--page);-webkit-text-size-adjust:100%}
body{max-width:80rem;margin:0 auto;padding:0 1rem 3rem}
p,dl,ul,figure{max-width:64rem}
h1{font-size:1.7rem;margin:1.5rem 0 .5rem}
h2{font-size:1.3rem;margin:2.5rem 0 .5rem;scroll-margin-top:1rem}
h3{font-size:1rem;margin:0;display:inline;overflow-wrap:anywhere}
h4,h5{font-size:1rem;margin:1rem 0 .25rem}
summary h4{display:inline;overflow-wrap:anywhere}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:2px}
.skip{position:absolute;left:-100vw;top:0;padding:.5rem 1rem;background:var(--card)}
.skip:focus{left:0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:0;margin:1rem 0}
nav a{display:inline-block;padding:.3rem 0}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.9em;overflow-wrap:anywhere}
.muted,footer{color:var(--muted)}
.bad{color:var(--bad);font-weight:600}
.good{color:var(--good);font-weight:600}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--rule);border-radius:6px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.5rem .75rem;color:var(--muted)}
th,td{padding:.3rem .6rem;text-align:right;white-space:nowrap;border-top:1px solid var(--rule)}
th:last-child,td:last-child{padding-right:.9rem}
.controls{display:flex;flex-wrap:wrap;gap:.5rem;margin:.5rem 0}
.controls>*,thead button,.family button{font:inherit;color:inherit}
.controls>*{flex:1 1 10rem;min-width:0;padding:.35rem .6rem;background:var(--card);border:1px solid var(--rule);border-radius:6px}
thead button,.family button{background:none;border:0;padding:0;font-weight:600;text-align:inherit;cursor:pointer}
[aria-sort] button::after{content:" ▾";color:var(--link)}
[aria-sort=ascending] button::after{content:" ▴"}
.family button::before{content:"▸ ";color:var(--link)}
.family button[aria-expanded=true]::before{content:"▾ "}
.folded .kernel,[hidden]{display:none!important}
.family~.kernel th{padding-left:1.6rem}
td[style]{background:linear-gradient(var(--used),var(--used)) left bottom/var(--share) 4px no-repeat}
.kernel{scroll-margin-top:4rem}
th{font-weight:600}
thead th{white-space:normal;vertical-align:bottom}
th:first-child,.source td:last-child,.source thead th:last-child{text-align:left}
.source .code{white-space:normal;min-width:18rem}
.source .code code{white-space:pre-wrap}
tr.hot{background:var(--bad-fill)}
.source{font-size:.85rem}
.source th,.source td{border-top-color:transparent;padding-block:.1rem}
details{background:var(--card);border:1px solid var(--rule);border-radius:6px;margin:.5rem 0;padding:0 1rem}
details[open]{padding-bottom:1rem}
.family>details{background:var(--page)}
details .scroll{border-color:var(--rule)}
summary{cursor:pointer;padding:.6rem 0}
figure{margin:1.25rem 0}
figure .scroll{padding:.5rem}
figcaption{padding:.4rem 0;color:var(--text)}
svg{display:block;width:100%;height:auto;max-width:56rem}
svg text{font:11px system-ui,sans-serif;fill:var(--text)}
svg .label{fill:var(--muted)}
svg .label.bad{fill:var(--bad)}
svg .over{fill:var(--muted);stroke:var(--card);stroke-width:4px;stroke-linejoin:round;paint-order:stroke}
svg .strong{fill:var(--text);font-weight:600}
svg .small{font-size:9.5px}
svg .idle{fill:none;stroke:var(--rule);stroke-dasharray:2 2}
svg .late{stroke:var(--bad);stroke-width:2.5}
svg .used{fill:var(--used)}
svg .on-used{fill:var(--on-used)}
svg .wasted{fill:var(--bad-fill);stroke:var(--bad);stroke-width:1.5;stroke-dasharray:3 2}
svg .frame{fill:none;stroke:var(--rule)}
svg .grid{stroke:var(--rule);stroke-width:.5;fill:none;stroke-dasharray:2 3}
svg .roof{stroke:var(--used);stroke-width:3;fill:none}
svg .drop{stroke:var(--muted);stroke-dasharray:3 3;fill:none}
svg .mark{fill:var(--bad)}
.bars{list-style:none;padding:0}
.bars li{margin:.35rem 0}
.bar{display:block;height:.7rem;border:1px solid var(--rule);border-radius:4px;overflow:hidden}
.bar span{display:block;height:100%;background:var(--used)}
.bar.limit span{background:var(--bad)}
dt{font-weight:600;margin-top:.6rem}
dd{margin:0}
@media (max-width:60rem){
th,td{padding-inline:.35rem}
#summary thead,.source thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
#summary tr{display:grid;grid-template-columns:repeat(3,1fr);gap:0 .5rem;padding:.4rem .6rem;border-top:1px solid var(--rule)}
#summary :is(th,td),.source :is(th,td){border:0;padding:0;text-align:left;white-space:normal;min-width:0}
#summary td{font-size:.85rem;overflow-wrap:anywhere}
#summary .family td:last-child{display:none}
#summary tbody th{grid-column:1/-1;overflow-wrap:anywhere}
#summary .family~.kernel th{padding-left:0}
#roofline tbody th{white-space:normal}
#summary td::before,.source td[data-label]::before{content:attr(data-label);display:block;color:var(--muted);font-size:.8rem;font-weight:400}
.source tr{display:flex;flex-wrap:wrap;gap:0 .75rem;padding:.25rem .5rem;border-top:1px solid var(--rule)}
.source tr>th{flex:0 0 2.2rem}
.source .file>th{flex:1 0 100%;overflow-wrap:anywhere}
.source td:empty{display:none}
.source .code{min-width:0;order:-1;flex:1 0 calc(100% - 3rem)}
.source tr>th:first-child{order:-2}
.source .code code{white-space:pre-wrap;overflow-wrap:anywhere}
}
@media print{details>*{display:block}}
"#;

fn variables(palette: &Palette) -> String {
    let mut out = String::new();
    for (name, colour) in palette.named() {
        let _ = write!(out, "--{name}:{};", colour.hex());
    }
    for bank in 0..BANK_COLOURS {
        let _ = write!(out, "--b{bank}:{};", palette.bank(bank).hex());
    }
    out
}

/// The whole sheet.
pub(super) fn sheet() -> String {
    let mut out = String::new();
    let _ = write!(out, ":root{{color-scheme:light dark;{}}}", variables(&LIGHT));
    let _ = write!(out, "@media (prefers-color-scheme:dark){{:root{{{}}}}}", variables(&DARK));
    out.push_str(RULES);
    for bank in 0..BANK_COLOURS {
        let _ = write!(out, "svg .b{bank}{{fill:var(--b{bank})}}");
    }
    out
}
