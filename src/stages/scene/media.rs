//! The types of the files that programs write.

/// The type of a file, by its suffix.
pub fn media_type(name: &str) -> &'static str {
    const TYPES: [(&str, &str); 16] = [
        ("png", "image/png"),
        ("jpg", "image/jpeg"),
        ("jpeg", "image/jpeg"),
        ("exr", "image/x-exr"),
        ("tif", "image/tiff"),
        ("tiff", "image/tiff"),
        ("hdr", "image/vnd.radiance"),
        ("gif", "image/gif"),
        ("webp", "image/webp"),
        ("mp4", "video/mp4"),
        ("mov", "video/quicktime"),
        ("webm", "video/webm"),
        ("mkv", "video/x-matroska"),
        ("glb", "model/gltf-binary"),
        ("json", "application/json"),
        ("txt", "text/plain"),
    ];
    let suffix = name.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    let found = TYPES.iter().find(|(known, _)| suffix.eq_ignore_ascii_case(known));
    found.map_or("application/octet-stream", |(_, media)| media)
}
