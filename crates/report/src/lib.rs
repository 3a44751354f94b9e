//! Counters and models as tables, SVG and an HTML page.
