//! The page's files, which are part of the program.

/// A file with its path in the address and its media type.
pub(super) struct PageFile {
    /// Begins with `/`.
    pub(super) path: &'static str,
    /// For the header `Content-Type`.
    pub(super) media_type: &'static str,
    /// What it holds.
    pub(super) bytes: &'static [u8],
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! page_file {
    ($path:literal, $media_type:expr, $file:literal) => {
        PageFile {
            path: $path,
            media_type: $media_type,
            bytes: include_bytes!(concat!("../../page/", $file)),
        }
    };
}

/// All there is to get.
pub(super) const FILES: &[PageFile] = &[
    page_file!("/", "text/html; charset=utf-8", "index.html"),
    page_file!("/page.css", "text/css; charset=utf-8", "page.css"),
    page_file!("/icon.svg", "image/svg+xml", "icon.svg"),
    page_file!("/page.js", SCRIPT, "page.js"),
    page_file!("/connection.js", SCRIPT, "connection.js"),
    page_file!("/chart.js", SCRIPT, "chart.js"),
    page_file!("/curves.js", SCRIPT, "curves.js"),
    page_file!("/floor.js", SCRIPT, "floor.js"),
    page_file!("/frames.js", SCRIPT, "frames.js"),
    page_file!("/returns.js", SCRIPT, "returns.js"),
    page_file!("/scene.js", SCRIPT, "scene.js"),
    page_file!("/vendor/three.min.js", SCRIPT, "vendor/three.min.js"),
];

/// The file at `path`.
pub(super) fn find(path: &str) -> Option<&'static PageFile> {
    FILES.iter().find(|file| file.path == path)
}
