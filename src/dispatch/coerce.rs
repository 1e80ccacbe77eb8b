//! Arguments brought to their declared types, where nothing is lost by it: other names of parameters, `"30"` for 30,
//! `"false"` for false, JSON in a string, null for "not given". Pure.
//!
//! One rule keeps this safe: only a value that does not validate is touched, and what takes its place must validate.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::arguments::Scan;
use super::names::{quoted, snake};

/// More significant digits than a double keeps for certain.
const EXACT_DIGITS: usize = 15;

/// Schemas nested deeper are left alone.
const DEEPEST: usize = 32;

/// Values (each with all in it) are held against other branches of a choice than the first until so many were, one
/// within another counted again: choices within choices multiply.
const TRIED: usize = 200_000;

/// Arguments and what was done to them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Coerced {
    /// The arguments, in the order in which they came.
    pub value: Map<String, Value>,
    /// What was changed, in words.
    pub repairs: Vec<String>,
}

/// Brings `given` to `schema`, whose validator `whole` is, as far as that loses nothing; what still does not fit is for
/// validation to tell. The error is a parameter given twice, under two names, with different values.
pub(super) fn coerce(
    schema: &Value,
    whole: &Validator,
    aliases: &[(&str, &str)],
    given: Map<String, Value>,
) -> Result<Coerced, String> {
    let mut repairs = Vec::new();
    let named = rename(schema, aliases, given, &mut repairs, &[])?;
    let value = Value::Object(named);
    let coercion = Coercion { root: schema, aliases, validators: RefCell::default(), left: Cell::new(TRIED) };
    let value = if whole.is_valid(&value) {
        value
    } else {
        coercion.mended(schema, &value, &mut Vec::new(), &mut repairs).unwrap_or(value)
    };
    let Value::Object(value) = value else { return Err("the arguments are not an object".to_owned()) };
    Ok(Coerced { value, repairs })
}

/// The same arguments under the real names of their parameters, where that is clear.
pub(super) fn renamed(schema: &Value, aliases: &[(&str, &str)], given: Map<String, Value>) -> Map<String, Value> {
    rename(schema, aliases, given.clone(), &mut Vec::new(), &[]).unwrap_or(given)
}

/// Other names of parameters: the declared ones, and real ones written another way (`oldString`). `path` is where the
/// object is that they are in.
fn rename(
    schema: &Value,
    aliases: &[(&str, &str)],
    given: Map<String, Value>,
    repairs: &mut Vec<String>,
    path: &[String],
) -> Result<Map<String, Value>, String> {
    let empty = Map::new();
    let declared = schema["properties"].as_object().unwrap_or(&empty);
    let real = |key: &str| -> Option<String> {
        if declared.contains_key(key) {
            return None;
        }
        let key = snake(key);
        if declared.contains_key(&key) {
            return Some(key);
        }
        let (_, real) = aliases.iter().find(|(other, real)| snake(other) == key && declared.contains_key(*real))?;
        Some((*real).to_owned())
    };
    let mut named: Map<String, Value> = Map::new();
    let mut origin: Map<String, Value> = Map::new();
    for (key, value) in given {
        let name = real(&key).unwrap_or_else(|| key.clone());
        match named.get(&name) {
            Some(first) if *first != value && !value.is_null() && !first.is_null() => {
                let first = origin.get(&name).and_then(Value::as_str).unwrap_or(&name);
                return Err(format!(
                    "{} are the same parameter and came with different values; send only `{name}`",
                    quoted(&[first, &key]).replace(" or ", " and ")
                ));
            }
            Some(first) if !first.is_null() => continue,
            _ => {}
        }
        if name != key {
            let within = |name: &str| path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(".");
            repairs.push(format!("took `{}` for `{name}`", within(&key)));
        }
        origin.insert(name.clone(), Value::String(key));
        named.insert(name, value);
    }
    Ok(named)
}

struct Coercion<'a> {
    root: &'a Value,
    aliases: &'a [(&'a str, &'a str)],
    /// The validators of parts of `root`, by where these are: each is made once, however many items it is for.
    validators: RefCell<HashMap<*const Value, Option<Validator>>>,
    /// What may still be tried.
    left: Cell<usize>,
}

impl<'a> Coercion<'a> {
    /// Whether a value validates against a part of the schema.
    fn fits(&self, schema: &'a Value, value: &Value) -> bool {
        let mut validators = self.validators.borrow_mut();
        let validator = validators.entry(std::ptr::from_ref(schema)).or_insert_with(|| self.compiled(schema));
        validator.as_ref().is_some_and(|validator| validator.is_valid(value))
    }

    /// Whether a value may be held against another branch.
    fn may_try(&self, value: &Value) -> bool {
        let left = self.left.get().checked_sub(1 + members(value));
        self.left.set(left.unwrap_or_default());
        left.is_some()
    }

    fn compiled(&self, schema: &Value) -> Option<Validator> {
        let mut schema = schema.clone();
        if let Value::Object(fields) = &mut schema {
            for key in ["$defs", "definitions"] {
                if let Some(definitions) = self.root.get(key) {
                    fields.entry(key).or_insert_with(|| definitions.clone());
                }
            }
        }
        jsonschema::validator_for(&schema).ok()
    }

    /// What a value that does not fit becomes; `None` when nothing can be done. Objects and arrays come back mended as
    /// far as possible, so that validation tells only what is really wrong.
    fn mended(
        &self,
        schema: &'a Value,
        value: &Value,
        path: &mut Vec<String>,
        repairs: &mut Vec<String>,
    ) -> Option<Value> {
        if path.len() > DEEPEST {
            return None;
        }
        let mut partly = None;
        for (index, branch) in branches(schema, self.root).into_iter().enumerate() {
            if index > 0 && !self.may_try(value) {
                break;
            }
            let said = repairs.len();
            let Some(candidate) = self.candidate(branch, value, path, repairs) else { continue };
            if self.fits(schema, &candidate) {
                return Some(candidate);
            }
            // The first branch of the value's own kind tells its faults best.
            if partly.is_none() && std::mem::discriminant(&candidate) == std::mem::discriminant(value) {
                partly = Some((candidate, repairs.split_off(said)));
            }
            repairs.truncate(said);
        }
        let (candidate, said) = partly?;
        repairs.extend(said);
        Some(candidate)
    }

    fn candidate(
        &self,
        schema: &'a Value,
        value: &Value,
        path: &mut Vec<String>,
        repairs: &mut Vec<String>,
    ) -> Option<Value> {
        match value {
            Value::Object(fields) => Some(self.fields(schema, fields, path, repairs)),
            Value::Array(items) => Some(self.items(schema, items, path, repairs)),
            scalar => {
                let kind = kinds(schema).into_iter().find_map(|kind| Some((kind, convert(kind, scalar)?)));
                let (kind, converted) = kind?;
                repairs.push(format!("took {} of `{}` as {kind}", told(scalar), path.join(".")));
                if converted.is_object() || converted.is_array() {
                    if self.fits(schema, &converted) {
                        return Some(converted);
                    }
                    return self.candidate(schema, &converted, path, repairs);
                }
                Some(converted)
            }
        }
    }

    fn fields(
        &self,
        schema: &'a Value,
        fields: &Map<String, Value>,
        path: &mut Vec<String>,
        repairs: &mut Vec<String>,
    ) -> Value {
        let required = |name: &str| {
            schema["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
        };
        // The outermost object has its names already. One that came twice with different values stays as it came: that it
        // is no parameter is for validation to tell.
        let said = repairs.len();
        let renamed =
            if path.is_empty() { None } else { rename(schema, self.aliases, fields.clone(), repairs, path).ok() };
        if renamed.is_none() {
            repairs.truncate(said);
        }
        let mut out = Map::new();
        for (name, value) in renamed.as_ref().unwrap_or(fields) {
            let declared = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
            let Some(declared) = declared.filter(|declared| declared.is_object() && !self.fits(declared, value)) else {
                out.insert(name.clone(), value.clone());
                continue;
            };
            path.push(name.clone());
            let mended = self.mended(declared, value, path, repairs);
            let empty = value.is_null() || value == "";
            match mended {
                Some(mended) => {
                    out.insert(name.clone(), mended);
                }
                None if empty && !required(name) => {
                    repairs.push(format!("took {} of `{}` as not given", told(value), path.join(".")));
                }
                None => {
                    out.insert(name.clone(), value.clone());
                }
            }
            path.pop();
        }
        Value::Object(out)
    }

    fn items(&self, schema: &'a Value, items: &[Value], path: &mut Vec<String>, repairs: &mut Vec<String>) -> Value {
        let Some(declared) = schema.get("items").filter(|items| items.is_object()) else {
            return Value::Array(items.to_vec());
        };
        let mut out = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if self.fits(declared, item) {
                out.push(item.clone());
                continue;
            }
            path.push(index.to_string());
            out.push(self.mended(declared, item, path, repairs).unwrap_or_else(|| item.clone()));
            path.pop();
        }
        Value::Array(out)
    }
}

/// A schema and the alternatives in it, references followed.
fn branches<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a Value> {
    let mut out = vec![schema];
    let mut at = 0;
    while let Some(branch) = out.get(at).copied().filter(|_| out.len() < 64) {
        if let Some(target) = branch["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?)) {
            out.push(target);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            out.extend(branch[key].as_array().into_iter().flatten());
        }
        at += 1;
    }
    out
}

fn kinds(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A scalar as another type, if it says exactly the same there.
fn convert(kind: &str, value: &Value) -> Option<Value> {
    match (kind, value) {
        ("integer", Value::String(text)) => integer(text.trim()),
        ("number", Value::String(text)) => integer(text.trim()).or_else(|| decimal(text.trim())),
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        ("array", Value::String(text)) => whole_json(text).filter(Value::is_array),
        ("object", Value::String(text)) => whole_json(text).filter(Value::is_object),
        // A float is left alone: `1.0` and `1e0` would both become the same text.
        ("string", Value::Number(number)) if !number.is_f64() => Some(Value::String(number.to_string())),
        ("string", Value::Bool(truth)) => Some(Value::String(truth.to_string())),
        _ => None,
    }
}

/// Digits as JSON writes an integer, perhaps with a fraction of zeros; beyond 64 bits there is none.
fn integer(text: &str) -> Option<Value> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.is_empty() || fraction.bytes().any(|byte| byte != b'0') || !plain_digits(whole) || whole == "-0" {
        return None;
    }
    whole.parse::<i64>().map(Value::from).or_else(|_| whole.parse::<u64>().map(Value::from)).ok()
}

fn decimal(text: &str) -> Option<Value> {
    let (whole, fraction) = text.split_once('.')?;
    let digits = whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit).count();
    if !plain_digits(whole) || !fraction.bytes().all(|byte| byte.is_ascii_digit()) || digits > EXACT_DIGITS {
        return None;
    }
    text.parse::<f64>().ok().map(Value::from)
}

/// An optional minus sign, and digits without a needless zero before them.
fn plain_digits(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'))
}

/// JSON in a string, if nothing of it is lost by reading it: no name twice in an object, no number that a double does
/// not keep.
fn whole_json(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    let (mut scan, mut count, mut number, mut exact) = (Scan::default(), 0, String::new(), true);
    for character in text.chars().chain(std::iter::once(' ')) {
        let outside = !scan.inside();
        scan.step(character);
        if !outside {
            continue;
        }
        if character.is_ascii_digit() || (!number.is_empty() && matches!(character, '.' | 'e' | 'E' | '+' | '-')) {
            number.push(character);
            continue;
        }
        if !number.is_empty() {
            exact &=
                number.parse::<u64>().is_ok_and(|whole| i64::try_from(whole).is_ok()) || decimal(&number).is_some();
            number.clear();
        }
        count += usize::from(character == ':');
    }
    (exact && count == colons(&value)).then_some(value)
}

/// How many members all objects in a value have.
fn colons(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(colons).sum(),
        Value::Object(fields) => fields.len() + fields.values().map(colons).sum::<usize>(),
        _ => 0,
    }
}

/// How many values are in a value.
fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len() + items.iter().map(members).sum::<usize>(),
        Value::Object(fields) => fields.len() + fields.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

fn told(value: &Value) -> String {
    match value {
        Value::String(text) if text.chars().count() > 40 => "a long string".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
