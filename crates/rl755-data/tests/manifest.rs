//! Manifests beside the JSON schema that describes them, and what a reader refuses.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;

use rl755_data::{Dataset, OnCorrupt, PackConfig};
use serde_json::{Value, json};
use support::*;

const SCHEMA: &str = include_str!("../../../data-schemas/dataset.schema.json");

/// What is wrong with `value` by `schema`, a part of `root`: the keywords that the schema uses.
fn problems(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Some(rules) = schema.as_object() else { return found };
    for (keyword, rule) in rules {
        let right = match keyword.as_str() {
            "$ref" => {
                let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                found.extend(problems(root, root.pointer(pointer).unwrap(), value, at));
                true
            }
            "oneOf" => {
                let fits = |rule: &&Value| problems(root, rule, value, at).is_empty();
                rule.as_array().unwrap().iter().filter(fits).count() == 1
            }
            "type" => {
                let is = |name: &Value| match name.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    "null" => value.is_null(),
                    other => panic!("type {other}"),
                };
                rule.as_array().map_or_else(|| is(rule), |names| names.iter().any(is))
            }
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|v| v >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|v| v <= rule.as_f64().unwrap()),
            "pattern" => {
                assert_eq!(rule, "^[0-9a-f]{64}$");
                let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                value.as_str().is_none_or(|text| text.len() == 64 && text.bytes().all(digit))
            }
            "required" => {
                let has = |key: &Value| value.get(key.as_str().unwrap()).is_some();
                rule.as_array().unwrap().iter().all(has)
            }
            "properties" | "additionalProperties" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    let own = rules.get("properties").and_then(|p| p.get(key));
                    let at = format!("{at}/{key}");
                    match (keyword.as_str(), own) {
                        ("properties", Some(own)) => {
                            found.extend(problems(root, own, value, &at));
                        }
                        ("additionalProperties", None) if rule == false => {
                            found.push(format!("{at} is not described"));
                        }
                        ("additionalProperties", None) => {
                            found.extend(problems(root, rule, value, &at));
                        }
                        _ => {}
                    }
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    found.extend(problems(root, rule, item, &format!("{at}/{index}")));
                }
                true
            }
            "$schema" | "$defs" | "title" | "description" => true,
            other => panic!("the schema uses `{other}`"),
        };
        if !right {
            found.push(format!("{at}: not as `{keyword}` says"));
        }
    }
    found
}

fn check(manifest: &Value) -> Vec<String> {
    let schema = serde_json::from_str(SCHEMA).unwrap();
    problems(&schema, &schema, manifest, "")
}

#[test]
fn a_written_manifest_is_as_the_schema_says() {
    let directory = tempfile::tempdir().unwrap();
    let rollouts = directory.path().join("rollouts");
    collect_all(&config(&rollouts));
    fs::write(rollouts.join("rollout-0000-000004.tfrecord"), b"").unwrap();
    let data = directory.path().join("data");
    pack_all(&PackConfig { on_corrupt: OnCorrupt::Skip, ..pack_config(&rollouts, &data) });
    let text = fs::read(data.join("dataset.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(check(&manifest), [""; 0]);
    assert!(manifest["skipped"][0]["reason"].as_str().unwrap().contains("0 records"));
    assert_eq!(manifest["config"]["stage"], "pack");
    // Whatever is taken away, or made another, is missed.
    for key in manifest.as_object().unwrap().keys() {
        let mut other = manifest.clone();
        other.as_object_mut().unwrap().remove(key);
        assert!(!check(&other).is_empty(), "without {key}");
        other[key] = json!(0.5);
        assert!(!check(&other).is_empty(), "{key} of another type");
    }
    let mut other = manifest.clone();
    other["shards"][0]["lengths"][1] = json!(-1);
    assert_eq!(check(&other), ["/shards/0/lengths/1: not as `minimum` says"]);
    other = manifest;
    other["shards"][0]["size"] = json!(1);
    assert_eq!(check(&other), ["/shards/0/size is not described"]);
}

#[test]
fn a_manifest_is_short_to_read() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |c| c.num_rollouts = 12);
    let text = fs::read_to_string(directory.path().join("data/dataset.json")).unwrap();
    let in_one_line = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("\"lengths\": [") && line.ends_with("],")
    };
    assert_eq!(text.lines().filter(in_one_line).count(), 7, "one for each shard: {text}");
}

#[test]
fn other_formats_and_contradictions_are_told() {
    let directory = tempfile::tempdir().unwrap();
    dataset(directory.path(), |_| {});
    let path = directory.path().join("data/dataset.json");
    let manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let check = |edit: &dyn Fn(&mut Value), expected: &str| {
        let mut manifest = manifest.clone();
        edit(&mut manifest);
        fs::write(&path, manifest.to_string()).unwrap();
        let error = Dataset::open(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&|m| m["format"] = json!(1), "format 1; this program reads 2: pack or encode it again");
    check(&|m| m["format"] = Value::Null, "no format number");
    check(&|m| m["splits"]["train"]["end"] = json!(99), "split train is 0..99 of 6 rollouts");
    for file in ["../a", "/a", "a/b", "", ".", "..", ".a"] {
        check(&|m| m["shards"][0]["file"] = json!(file), &format!("shard `{file}` lies outside"));
    }
    check(&|m| m["action_width"] = json!(7), "action_width 7 where the environment has 2");
    check(&|m| m["shards"][0]["lengths"] = json!([-1]), "-1");
    check(&|m| m["size"] = json!(1), "unknown field `size`");
}
