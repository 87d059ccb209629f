//! Where a folder lies: on a disk of this machine, whose changes the system tells, or on a share
//! that others change unheard.

use std::io;
use std::path::Path;

/// Whether the system tells every change below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// A disk or the memory of this machine.
    Local,
    /// A share, a file system kept by a program, or one that is not known: it must be looked at
    /// again and again. The text names it.
    Remote(String),
}

/// The kinds of file system that Linux has: the number that statfs(2) gives, the name in
/// `/proc/self/mountinfo`, and whether every change is made through this machine.
///
/// Numbers: `include/uapi/linux/magic.h` of Linux and statfs(2); those outside of the kernel
/// (Lustre, GPFS, ZFS, `BeeGFS`, `PanFS`, `StorNext`, `VMware`, Parallels) are the ones that GNU
/// `stat -f` names. `fuse` also stands for `fuseblk` (NTFS by ntfs-3g) and virtiofs, which share
/// its number: a disk there is polled, which is slower and never wrong. OCFS2, GFS2 and `StorNext`
/// lie on disks that several machines write.
const KINDS: [(u32, &str, bool); 46] = [
    (0x0000_ef53, "ext4", true), // ext2 and ext3 have the same number
    (0x5846_5342, "xfs", true),
    (0x9123_683e, "btrfs", true),
    (0x2fc1_2fc1, "zfs", true),
    (0x0102_1994, "tmpfs", true),
    (0x8584_58f6, "ramfs", true),
    (0x794c_7630, "overlay", true),
    (0x6175_6673, "aufs", true),
    (0x0000_f15f, "ecryptfs", true),
    (0xf2f5_2010, "f2fs", true),
    (0xca45_1a4e, "bcachefs", true),
    (0x5265_4973, "reiserfs", true),
    (0x3153_464a, "jfs", true),
    (0x0000_3434, "nilfs2", true),
    (0x7366_746e, "ntfs3", true),
    (0x5346_544e, "ntfs", true),
    (0x0000_4d44, "vfat", true),
    (0x2011_bab0, "exfat", true),
    (0x0000_4244, "hfs", true),
    (0x0000_482b, "hfsplus", true),
    (0x1501_3346, "udf", true),
    (0x0000_9660, "iso9660", true),
    (0x7371_7368, "squashfs", true),
    (0xe0f5_e1e2, "erofs", true),
    (0x0000_6969, "nfs", false),
    (0x0000_517b, "smbfs", false),
    (0xff53_4d42, "cifs", false),
    (0xfe53_4d42, "smb3", false),
    (0x6573_5546, "fuse", false),
    (0x0102_1997, "9p", false),
    (0x5346_414f, "openafs", false),
    (0x6b41_4653, "afs", false),
    (0x00c3_6400, "ceph", false),
    (0x0bd0_0bd0, "lustre", false),
    (0x4750_4653, "gpfs", false),
    (0x786f_4256, "vboxsf", false),
    (0x7375_7245, "coda", false),
    (0x0000_564c, "ncpfs", false),
    (0x7461_636f, "ocfs2", false),
    (0x0116_1970, "gfs2", false),
    (0x2003_0528, "orangefs", false),
    (0x1983_0326, "beegfs", false),
    (0xaad7_aaea, "panfs", false),
    (0xbeef_dead, "stornext", false),
    (0xbacb_acbc, "vmhgfs", false),
    (0x7c7c_6673, "prl_fs", false),
];

/// Names in `mountinfo` of local kinds that the table has under another name.
const MORE_LOCAL: [&str; 3] = ["ext2", "ext3", "msdos"];

/// What the file system of this number is.
fn by_number(number: u32) -> Storage {
    match KINDS.iter().find(|(known, _, _)| *known == number) {
        Some((_, _, true)) => Storage::Local,
        Some((_, name, false)) => Storage::Remote((*name).to_owned()),
        None => Storage::Remote(format!("0x{number:08x}")),
    }
}

/// Whether a kind of file system, named as in `mountinfo`, is one whose files answer at once.
pub(super) fn is_local_name(name: &str) -> bool {
    MORE_LOCAL.contains(&name) || KINDS.iter().any(|(_, known, local)| *local && *known == name)
}

/// Where `folder` lies. Fails when it is not there or may not be looked at.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn storage_of(folder: &Path) -> io::Result<Storage> {
    // All numbers have 32 bits; on some machines the field is signed or longer.
    let number = rustix::fs::statfs(folder)?.f_type as u32;
    Ok(by_number(number))
}

/// Where `folder` lies. macOS names the kind of file system; its own two are local.
#[cfg(target_vendor = "apple")]
pub fn storage_of(folder: &Path) -> io::Result<Storage> {
    let stat = rustix::fs::statfs(folder)?;
    let bytes = stat.f_fstypename.iter().map(|letter| letter.to_ne_bytes()[0]);
    let name: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    Ok(match name.as_slice() {
        b"apfs" | b"hfs" => Storage::Local,
        other => Storage::Remote(String::from_utf8_lossy(other).into_owned()),
    })
}

/// Where `folder` lies. Windows resolves a drive that stands for a share to the share's name;
/// every other drive counts as local.
#[cfg(windows)]
pub fn storage_of(folder: &Path) -> io::Result<Storage> {
    use std::path::{Component, Prefix};
    let real = std::fs::canonicalize(folder)?;
    Ok(match real.components().next() {
        Some(Component::Prefix(prefix)) => match prefix.kind() {
            Prefix::VerbatimDisk(_) | Prefix::Disk(_) => Storage::Local,
            _ => Storage::Remote("network share".to_owned()),
        },
        _ => Storage::Remote("unknown".to_owned()),
    })
}

/// Where `folder` lies: not known on this system, so it is looked at again and again.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple", windows)))]
pub fn storage_of(folder: &Path) -> io::Result<Storage> {
    std::fs::metadata(folder)?;
    Ok(Storage::Remote("unknown".to_owned()))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn memory_is_local_and_proc_is_not_known() {
        assert_eq!(storage_of(Path::new("/dev/shm")).unwrap(), Storage::Local);
        let proc = Storage::Remote("0x00009fa0".to_owned());
        assert_eq!(storage_of(Path::new("/proc")).unwrap(), proc);
        let gone = storage_of(Path::new("/nowhere")).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn shares_are_remote_and_so_is_what_is_not_known() {
        for (number, name) in [
            (0x6969, "nfs"),
            (0xff53_4d42, "cifs"),
            (0xfe53_4d42, "smb3"),
            (0x6573_5546, "fuse"),
            (0x0102_1997, "9p"),
            (0xdead_0001, "0xdead0001"),
            (0, "0x00000000"),
        ] {
            assert_eq!(by_number(number), Storage::Remote(name.to_owned()));
        }
        for number in [0xef53, 0x5846_5342, 0x9123_683e, 0x794c_7630] {
            assert_eq!(by_number(number), Storage::Local);
        }
    }

    #[test]
    fn the_table_has_no_doubles() {
        let numbers: BTreeSet<u32> = KINDS.iter().map(|(number, _, _)| *number).collect();
        let names: BTreeSet<&str> = KINDS.iter().map(|(_, name, _)| *name).collect();
        assert_eq!((numbers.len(), names.len()), (KINDS.len(), KINDS.len()));
        assert!(MORE_LOCAL.iter().all(|name| !names.contains(name)));
    }

    #[test]
    fn a_name_is_local_as_its_number_is() {
        assert!(is_local_name("ext3") && is_local_name("tmpfs"));
        for name in ["nfs4", "fuse.sshfs", "fuseblk", "cifs", "proc", "never heard of"] {
            assert!(!is_local_name(name), "{name}");
        }
    }
}
