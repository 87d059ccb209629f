//! Commands that stand in for renderers draw frames here; the real ones are in `tests/suite/`.
