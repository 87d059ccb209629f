//! What a client command did, and what its JSON says.

use sawah::model::PipelineId;
use serde_json::Value;

/// What a client command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The one JSON document on stdout.
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("stdout is not one JSON document ({error}): {self:#?}"),
        }
    }

    /// Ends the test unless the exit code is `code`.
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code, should be {code}: {self:#?}");
        self
    }

    /// Every pipeline that the JSON names.
    pub(crate) fn pipelines(&self) -> Vec<PipelineId> {
        let mut ids = Vec::new();
        find(&self.json(), &mut |key, value| {
            let id = match key {
                "pipeline" => value.as_i64().or_else(|| value.get("id").and_then(Value::as_i64)),
                _ => None,
            };
            ids.extend(id.map(PipelineId));
        });
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The only pipeline that the JSON names.
    pub(crate) fn pipeline(&self) -> PipelineId {
        match self.pipelines().as_slice() {
            [pipeline] => *pipeline,
            other => panic!("one pipeline should be named, not {other:?}: {self:#?}"),
        }
    }

    /// The texts under `key` anywhere in the JSON.
    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        let mut texts = Vec::new();
        find(&self.json(), &mut |found, value| {
            if found == key {
                texts.extend(value.as_str().map(str::to_owned));
            }
        });
        texts
    }
}

fn find(value: &Value, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            visit(key, value);
            find(value, visit);
        }),
        Value::Array(list) => list.iter().for_each(|value| find(value, visit)),
        _ => {}
    }
}
