//! The limit on the length of source files, and the README that every crate has.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Lines that a source file may have.
pub(crate) const MOST_LINES: usize = 800;

/// Source files below `root` that are too long, with their lengths.
pub(crate) fn too_long(root: &Path) -> io::Result<Vec<(PathBuf, usize)>> {
    let mut long = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            let hidden = name.to_string_lossy().starts_with('.');
            if entry.file_type()?.is_dir() {
                // What is built and what runs write is not source.
                let not_source = directory_is_output(root, &path);
                if !hidden && !not_source {
                    directories.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let lines = fs::read_to_string(&path)?.lines().count();
                if lines > MOST_LINES {
                    long.push((path, lines));
                }
            }
        }
    }
    long.sort();
    Ok(long)
}

fn directory_is_output(root: &Path, directory: &Path) -> bool {
    ["target", "runs", "data"].iter().any(|name| directory == root.join(name))
        || directory.ends_with("fuzz/target")
}

/// Crates in `crates` that have no README.md.
pub(crate) fn without_readme(crates: &Path) -> io::Result<Vec<PathBuf>> {
    let mut without = Vec::new();
    for entry in fs::read_dir(crates)? {
        let path = entry?.path();
        if path.join("Cargo.toml").is_file() && !path.join("README.md").is_file() {
            without.push(path);
        }
    }
    without.sort();
    Ok(without)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_found_and_output_is_not_searched() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: usize| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "//\n".repeat(lines)).unwrap();
        };
        write("crates/a/src/good.rs", MOST_LINES);
        write("crates/a/src/target/bad.rs", MOST_LINES + 1);
        write("crates/a/notes.md", 2 * MOST_LINES);
        write("target/debug/made.rs", 2 * MOST_LINES);
        write("crates/a/fuzz/target/made.rs", 2 * MOST_LINES);
        let found = too_long(root.path()).unwrap();
        let bad = root.path().join("crates/a/src/target/bad.rs");
        assert_eq!(found, [(bad, MOST_LINES + 1)]);
    }

    #[test]
    fn crates_without_readme_are_found() {
        let root = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::create_dir(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join("Cargo.toml"), "").unwrap();
        }
        fs::write(root.path().join("a/README.md"), "").unwrap();
        assert_eq!(without_readme(root.path()).unwrap(), [root.path().join("b")]);
    }
}
