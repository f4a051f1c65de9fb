//! The page, as `build.rs` made it of the sources in `web/`.

/// A file of the page.
#[derive(Debug)]
pub(crate) struct PageFile {
    /// Its path in the address, without the slash at the start.
    pub(crate) path: &'static str,
    pub(crate) mime: &'static str,
    pub(crate) bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

/// The file at a path; the empty path is the page itself.
pub(crate) fn file(path: &str) -> Option<&'static PageFile> {
    let path = if path.is_empty() { "index.html" } else { path };
    FILES.iter().find(|file| file.path == path)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_is_whole() {
        let page = super::file("").expect("an index.html");
        let text = std::str::from_utf8(page.bytes).expect("text");
        let scripts = text.split("src=\"").skip(1).filter_map(|rest| rest.split_once('"'));
        let scripts: Vec<&str> = scripts.map(|(path, _)| path.trim_start_matches("./")).collect();
        assert!(!scripts.is_empty(), "the page has a script");
        assert!(scripts.iter().all(|path| super::file(path).is_some()), "{scripts:?}");
        assert!(!text.contains("://"), "the page asks for nothing from elsewhere");
    }
}
