//! The same cases once more with the system's events: all others look through the whole folder at
//! each step, as where there are none.

use super::bench::BY_EVENTS;
use super::{changing, folder, names, orders, restarts, series, sets, single};

/// Cases whose end must not depend on how files are seen.
const CASES: &[(&str, fn())] = &[
    ("slow writer", single::a_slow_writer_is_waited_for_as_long_as_it_writes),
    ("taken once", single::a_file_is_taken_once_it_was_still_and_never_twice),
    ("stalled", single::a_copy_that_stalls_is_waited_for_and_taken_when_it_goes_on),
    ("never ends", single::a_copy_that_never_ends_is_refused_with_a_note_until_it_is_mended),
    ("rename", single::a_rename_into_place_hands_in_the_last_name_alone),
    ("done mark", single::a_done_mark_says_at_once_that_a_file_is_complete),
    ("empty", single::an_empty_file_is_taken_once_it_is_filled_and_refused_after_a_while),
    ("late side files", sets::a_mesh_waits_for_late_side_files_and_takes_them_along),
    ("missing", sets::what_lacks_is_stated_and_makes_a_new_version_when_it_comes),
    ("series", series::two_versions_with_gaps_in_one_folder_are_two_sequences),
    (
        "late frame",
        series::a_frame_that_comes_late_or_is_drawn_again_makes_a_new_version_of_its_sequence,
    ),
    (
        "overwritten",
        changing::a_file_that_is_overwritten_before_its_bytes_are_read_is_taken_with_the_new_ones,
    ),
    ("deleted", changing::a_file_that_is_deleted_before_its_bytes_are_read_leaves_nothing),
    (
        "versions",
        changing::the_same_path_with_new_content_is_the_next_version_and_old_content_no_new_work,
    ),
    ("odd names", names::names_of_every_kind_are_taken_and_each_is_shown_in_its_own_way),
    (
        "pairs",
        names::of_two_names_that_are_one_elsewhere_the_second_is_refused_until_the_first_is_gone,
    ),
    ("deep", folder::a_deep_tree_is_looked_through),
    ("links", folder::links_in_a_circle_out_of_the_folder_and_to_nothing_are_left_alone),
    (
        "removed",
        folder::a_folder_that_is_removed_and_returns_is_gone_meanwhile_and_nothing_is_taken_twice,
    ),
    ("restart", restarts::while_files_settle_and_while_they_wait_for_side_files),
    ("off", restarts::after_a_change_while_it_was_off_the_new_content_is_the_next_version),
    ("taken back", orders::a_drop_that_is_taken_back_ends_its_pipeline_and_leaves_the_file),
];

#[test]
fn by_events_every_case_ends_alike() {
    BY_EVENTS.set(true);
    for (name, case) in CASES {
        // Which case it was is said where one fails.
        println!("{name}");
        case();
    }
}
