//! The integration tests, one binary so that linking happens once.

mod samples;
