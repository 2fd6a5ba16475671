//! How much memory there is for more: a system that promises more than it has
//! (`vm.overcommit_memory=1`, as on nodes of Kubernetes) refuses nothing, and ends the process when
//! the memory is written to.
#![cfg_attr(not(test), expect(clippy::disallowed_methods, reason = "files that the system makes"))]

use std::fs;
use std::iter::successors;
use std::path::{Component, Path, PathBuf};

/// Less is not looked at: it may be short as well, but not by so much that it could be told before.
const LEAST: u64 = 64 << 20;

/// Whether there is memory for so many bytes more, as far as the system says.
pub(super) fn is_there(bytes: u64) -> bool {
    bytes < LEAST || available().is_none_or(|available| bytes <= available)
}

/// The bytes that are available; `None` where the system does not say.
pub fn available() -> Option<u64> {
    #[cfg(test)]
    if let Some(bytes) = tests::SAID.get() {
        return Some(bytes);
    }
    available_in(Path::new("/"))
}

/// The least of what the machine and the control groups of the process leave, by the files of Linux
/// below `root`.
fn available_in(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let left = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        match controllers {
            "" => left_in_groups(&root.join("sys/fs/cgroup"), path, ["memory.max", "memory.current", ""]),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                let names = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_"];
                left_in_groups(&root.join("sys/fs/cgroup/memory"), path, names)
            }
            _ => None,
        }
    });
    left.chain(left_in_machine(&root.join("proc/meminfo"))).min()
}

/// What the machine has: memory that is free or holds copies of files, and room to swap.
fn left_in_machine(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let kilobytes = |name| number(&text, name).map(|n| n.saturating_mul(1024));
    Some(kilobytes("MemAvailable:")?.saturating_add(kilobytes("SwapFree:").unwrap_or(0)))
}

/// The least that a group and the groups around it leave. In a container the path may be one of the
/// host, which is not there; then the container's own group is at the top.
fn left_in_groups(top: &Path, path: &str, [limit, used, prefix]: [&str; 3]) -> Option<u64> {
    let inner: PathBuf = Path::new(path).components().filter(|part| matches!(part, Component::Normal(_))).collect();
    let folders = successors(Some(top.join(inner)), |folder| folder.parent().map(Path::to_path_buf));
    let left = |folder: PathBuf| {
        let number_of = |name| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        let (limit, used) = (number_of(limit)?, number_of(used)?);
        // Copies of files count as used, and go where memory is needed.
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let copies =
            ["inactive_file", "active_file"].map(|name| number(&stat, &format!("{prefix}{name}")).unwrap_or(0));
        Some(limit.saturating_sub(used.saturating_sub(copies[0].saturating_add(copies[1]))))
    };
    folders.take_while(|folder| folder.starts_with(top)).filter_map(left).min()
}

/// The number behind a name at the start of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    lines.find_map(|mut words| if words.next() == Some(name) { words.next()?.parse().ok() } else { None })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// What this thread is told instead of what the system says.
        pub(super) static SAID: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Does `work` with so many bytes available, as far as this thread can tell.
    pub(crate) fn with<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
        SAID.set(Some(bytes));
        let done = work();
        SAID.set(None);
        done
    }

    const MEMINFO: &str = "MemTotal: 900 kB\nMemFree: 10 kB\nMemAvailable:  500 kB\nSwapFree: 12 kB\n";

    /// What is available by files of Linux.
    fn by(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        available_in(root.path())
    }

    #[test]
    fn the_least_of_machine_and_groups_counts() {
        assert_eq!(by(&[]), None);
        let machine = ("proc/meminfo", MEMINFO);
        assert_eq!(by(&[machine]), Some(512 * 1024));
        assert_eq!(by(&[("proc/meminfo", "MemTotal: 900 kB\n")]), None);
        let second = |path, limit, used, stat| {
            let group = ("proc/self/cgroup", path);
            let files =
                ["a/b/memory.max", "a/b/memory.current", "a/b/memory.stat"].map(|f| format!("sys/fs/cgroup/{f}"));
            let outer = [("sys/fs/cgroup/a/memory.max", "max\n"), ("sys/fs/cgroup/a/memory.current", "7\n")];
            by(&[&[machine, group], &outer[..], &[(&files[0], limit), (&files[1], used), (&files[2], stat)]].concat())
        };
        assert_eq!(
            second("0::/a/b\n", "90000\n", "50000\n", "anon 1\ninactive_file 300\nactive_file 20\n"),
            Some(40_320)
        );
        assert_eq!(second("0::/a/b\n", "max\n", "50000\n", ""), Some(512 * 1024));
        assert_eq!(second("0::/a/b\n", "100\n", "50000\n", ""), Some(0));
        assert_eq!(second("0::/a\n", "100\n", "50000\n", ""), Some(512 * 1024));
        // A group inside of one with a limit; a path of the host; the first version of groups.
        let limited = [("sys/fs/cgroup/memory.max", "5000"), ("sys/fs/cgroup/memory.current", "1000")];
        for path in ["0::/kubepods/x\n", "0::/\n", "0::/../../x\n"] {
            assert_eq!(by(&[&[machine, ("proc/self/cgroup", path)], &limited[..]].concat()), Some(4000), "{path}");
        }
        let first = [
            ("proc/self/cgroup", "12:cpu,memory:/j\n3:pids:/j\n"),
            ("sys/fs/cgroup/memory/j/memory.limit_in_bytes", "8000"),
            ("sys/fs/cgroup/memory/j/memory.usage_in_bytes", "6000"),
            ("sys/fs/cgroup/memory/j/memory.stat", "inactive_file 9\ntotal_inactive_file 500\n"),
        ];
        assert_eq!(by(&[&[machine], &first[..]].concat()), Some(2500));
    }

    /// On Linux the system says something, and it is no more than 2^60.
    #[test]
    fn this_machine_has_some() {
        if cfg!(target_os = "linux") {
            assert!(available_in(Path::new("/")).is_some_and(|bytes| (1 << 20..1 << 60).contains(&bytes)));
        }
    }
}
