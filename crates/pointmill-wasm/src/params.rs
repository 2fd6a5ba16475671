//! Parameters as JSON, with the names that the command prints.

use crate::thrown;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use wasm_bindgen::prelude::*;

/// The parameters that JSON gives, the others as they are in `defaults`.
///
/// # Errors
/// No JSON object; a name that no parameter has; a value that its parameter does not take.
pub(crate) fn params<T: Serialize + DeserializeOwned>(given: Option<&str>, defaults: &T) -> Result<T, JsError> {
    let given: Map<String, Value> = given.map_or(Ok(Map::new()), serde_json::from_str).map_err(of_params)?;
    let Value::Object(mut all) = serde_json::to_value(defaults).map_err(thrown)? else { unreachable!("a struct") };
    for (name, value) in given {
        let names = || all.keys().cloned().collect::<Vec<_>>().join(", ");
        if !all.contains_key(&name) {
            return Err(of_params(format!("expected {}, got {name:?}", names())));
        }
        all.insert(name, value);
    }
    serde_json::from_value(Value::Object(all)).map_err(of_params)
}

/// An error of parameters.
fn of_params(error: impl std::fmt::Display) -> JsError {
    thrown(format!("params: {error}"))
}
