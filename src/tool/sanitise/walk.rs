//! The walk through a schema: references resolved, what is too deep or too much cut, each part brought to plain forms.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::fold;

/// Parts nested deeper are cut.
const DEEPEST: usize = 32;

/// What a part costs besides the data in it (bytes).
const PART_BYTES: usize = 64;

/// All parts together may cost so much (bytes), each reference counted as what it stands for.
const MOST_BYTES: usize = super::MAX_SCHEMA_BYTES;

/// References are followed so far in search of declared names.
const DECLARED_DEPTH: usize = 8;

/// Where parts of a schema are schemas themselves: under one keyword,
pub(super) const SINGLE: &[&str] =
    &["additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"];
/// in a list,
pub(super) const LISTS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
/// or by name.
pub(super) const NAMED: &[&str] = &["dependentSchemas", "patternProperties", "properties"];
/// Asserted over what the other keywords of the same place have not seen.
pub(super) const UNEVALUATED: &[&str] = &["unevaluatedItems", "unevaluatedProperties"];
/// Of use only while there are references.
const GONE: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$recursiveAnchor",
    "$schema",
    "$vocabulary",
    "additionalItems",
    "definitions",
];
/// Applied to the very value that the schema around them describes.
const IN_PLACE: &[&str] = &["allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"];

/// Which version of JSON Schema, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Draft 4: exclusive limits are booleans.
    Four,
    /// Drafts 6 and 7: what stands beside a reference does not count.
    Seven,
    /// 2019-09 and later.
    Modern,
}

/// Where a part stands.
#[derive(Debug, Clone)]
struct Place {
    depth: usize,
    /// The names that are declared round it for the same value.
    known: BTreeSet<String>,
    /// Whether a looser part makes the whole looser: not below `not` and the like, where it would make it stricter.
    loosens: bool,
}

impl Place {
    fn below(&self) -> Place {
        Place { depth: self.depth + 1, known: BTreeSet::new(), loosens: self.loosens }
    }
}

/// A part as it is handed out.
struct Part {
    schema: Value,
    /// Whether it says exactly what it said before.
    exact: bool,
}

/// One walk.
pub(super) struct Walk<'a> {
    root: &'a Value,
    dialect: Dialect,
    /// What may still be spent (bytes).
    left: usize,
    /// The references that are being followed.
    following: Vec<String>,
    /// How many parts with an address of their own are round this one: references mean something else in there.
    foreign: usize,
    cut: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(root: &'a Value, dialect: Dialect) -> Walk<'a> {
        Walk { root, dialect, left: MOST_BYTES, following: Vec::new(), foreign: 0, cut: false }
    }

    /// Whether nothing was cut.
    pub(super) fn whole(&self) -> bool {
        !self.cut
    }

    /// The whole schema.
    pub(super) fn root(&mut self) -> Value {
        let place = Place { depth: 0, known: BTreeSet::new(), loosens: true };
        self.part(self.root, &place).schema
    }

    fn part(&mut self, schema: &Value, place: &Place) -> Part {
        let Value::Object(fields) = schema else { return Part { schema: schema.clone(), exact: true } };
        if is_cut(fields) {
            return Part { schema: schema.clone(), exact: true };
        }
        if place.depth > DEEPEST || self.left < PART_BYTES {
            return self.cut_short(schema, "Not described further: the schema is too large.");
        }
        self.left -= PART_BYTES;
        let foreign = place.depth > 0 && fields.get("$id").is_some_and(Value::is_string);
        self.foreign += usize::from(foreign);
        let part = match fields.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.reference(reference, fields, place),
            None => self.fields(fields, place),
        };
        self.foreign -= usize::from(foreign);
        part
    }

    /// Anything of the same type, and a word on why.
    fn cut_short(&mut self, schema: &Value, why: &str) -> Part {
        self.cut = true;
        let mut out = Map::new();
        let kind = schema.get("type").filter(|kind| kind.is_string());
        if let Some(kind) = kind {
            out.insert("type".to_owned(), kind.clone());
        }
        let description = schema.get("description").and_then(Value::as_str).unwrap_or(why);
        out.insert("description".to_owned(), description.into());
        if kind.is_some_and(|kind| kind == "object") {
            out.insert("properties".to_owned(), Value::Object(Map::new()));
        }
        Part { schema: Value::Object(out), exact: false }
    }

    fn target(&self, reference: &str) -> Option<&'a Value> {
        if self.foreign > 0 {
            return None;
        }
        self.root.pointer(reference.strip_prefix('#')?)
    }

    fn reference(&mut self, reference: &str, fields: &Map<String, Value>, place: &Place) -> Part {
        let beside = |key: &str| {
            key != "$ref"
                && (self.dialect == Dialect::Modern || fold::ANNOTATIONS.contains(&key) || GONE.contains(&key))
        };
        let rest: Map<String, Value> =
            fields.iter().filter(|(key, _)| beside(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
        let mut known = place.known.clone();
        self.declared(&Value::Object(rest.clone()), DECLARED_DEPTH, &mut known);
        let mut inside = place.clone();
        inside.depth += 1;
        inside.known = known;
        let target = match self.target(reference) {
            Some(target) if !self.following.iter().any(|open| open == reference) => {
                self.following.push(reference.to_owned());
                let target = self.part(target, &inside);
                self.following.pop();
                target
            }
            Some(target) => self.cut_short(
                &serde_json::json!({ "type": target.get("type") }),
                "The same again, nested: as described further out.",
            ),
            None => self.cut_short(&Value::Null, "Described elsewhere."),
        };
        let rest = self.fields(&rest, place);
        let exact = target.exact && rest.exact;
        let (Value::Object(mut outer), Value::Object(inner)) = (rest.schema, &target.schema) else {
            return Part { schema: target.schema, exact };
        };
        if let Some(merged) = fold::merge(&outer, inner) {
            outer = merged;
        } else {
            match outer.get_mut("allOf") {
                Some(Value::Array(all)) => all.push(target.schema),
                _ => {
                    outer.insert("allOf".to_owned(), Value::Array(vec![target.schema]));
                }
            }
        }
        if !exact {
            outer.retain(|key, _| !UNEVALUATED.contains(&key.as_str()));
        }
        finish(&mut outer, place);
        Part { schema: Value::Object(outer), exact }
    }

    fn fields(&mut self, fields: &Map<String, Value>, place: &Place) -> Part {
        let mut known = place.known.clone();
        self.declared(&Value::Object(fields.clone()), DECLARED_DEPTH, &mut known);
        let mut out = Map::new();
        let mut exact = true;
        for (key, value) in &self.modern(fields, &mut exact) {
            let key = key.as_str();
            // Below these, loosening would tighten: what is not exact is not said at all.
            let strict = matches!(key, "not" | "if" | "oneOf")
                || key == "contains" && fields.contains_key("maxContains")
                || UNEVALUATED.contains(&key);
            let mut inside = if IN_PLACE.contains(&key) || matches!(key, "not" | "if") {
                Place { depth: place.depth + 1, known: known.clone(), loosens: place.loosens }
            } else {
                place.below()
            };
            inside.loosens &= !strict;
            let mut whole = true;
            let made = if GONE.contains(&key) {
                continue;
            } else if matches!(key, "$dynamicRef" | "$recursiveRef") {
                self.cut = true;
                exact = false;
                continue;
            } else if SINGLE.contains(&key) || UNEVALUATED.contains(&key) {
                let part = self.part(value, &inside);
                whole = part.exact;
                part.schema
            } else if let (true, Value::Array(parts)) = (LISTS.contains(&key), value) {
                let parts: Vec<Part> = parts.iter().map(|part| self.part(part, &inside)).collect();
                whole = parts.iter().all(|part| part.exact);
                parts.into_iter().map(|part| part.schema).collect()
            } else if let (true, Value::Object(parts)) = (NAMED.contains(&key), value) {
                let mut made = Map::new();
                for (name, part) in parts {
                    self.left = self.left.saturating_sub(name.len());
                    let part = self.part(part, &inside);
                    whole &= part.exact;
                    // `true` as the object that says the same, which every API reads.
                    let schema = if part.schema == true { Value::Object(Map::new()) } else { part.schema };
                    made.insert(name.clone(), schema);
                }
                Value::Object(made)
            } else {
                if !matches!(key, "type" | "required") {
                    self.left = self.left.saturating_sub(value.to_string().len());
                }
                value.clone()
            };
            exact &= whole;
            match key {
                _ if whole || !strict => {
                    out.insert(key.to_owned(), made);
                }
                // One of several, loosened, is at least any of them.
                "oneOf" if !fields.contains_key("anyOf") => {
                    out.insert("anyOf".to_owned(), made);
                }
                "contains" => {
                    out.insert("contains".to_owned(), made);
                    out.insert("maxContains".to_owned(), Value::Null);
                }
                _ => {}
            }
        }
        if fields.contains_key("if") && !out.contains_key("if") {
            out.retain(|key, _| key != "then" && key != "else");
        }
        if out.get("maxContains").is_some_and(Value::is_null) {
            out.shift_remove("maxContains");
        }
        if !exact {
            out.retain(|key, _| !UNEVALUATED.contains(&key.as_str()));
        }
        exact &= finish(&mut out, place);
        Part { schema: Value::Object(out), exact }
    }

    /// The keywords of older versions as those of the newest.
    fn modern(&mut self, fields: &Map<String, Value>, exact: &mut bool) -> Map<String, Value> {
        let mut out = fields.clone();
        if let Some(Value::Array(tuple)) = fields.get("items") {
            out.shift_remove("items");
            out.insert("prefixItems".to_owned(), Value::Array(tuple.clone()));
            if let Some(others) = fields.get("additionalItems") {
                out.insert("items".to_owned(), others.clone());
            }
        }
        if self.dialect == Dialect::Four {
            for (exclusive, plain) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
                let limit = out.get(plain).cloned();
                match (out.get(exclusive), limit) {
                    (Some(Value::Bool(true)), Some(limit)) => {
                        out.shift_remove(plain);
                        out.insert(exclusive.to_owned(), limit);
                    }
                    (Some(Value::Bool(_)), _) => drop(out.shift_remove(exclusive)),
                    _ => {}
                }
            }
        }
        if let Some(Value::Object(dependencies)) = out.shift_remove("dependencies")
            && self.dialect != Dialect::Modern
        {
            let (names, schemas): (Map<_, _>, Map<_, _>) =
                dependencies.into_iter().partition(|(_, dependency)| dependency.is_array());
            for (key, part) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
                if part.is_empty() {
                } else if out.contains_key(key) {
                    self.cut = true;
                    *exact = false;
                } else {
                    out.insert(key.to_owned(), Value::Object(part));
                }
            }
        }
        out
    }

    /// The names of the properties that a part declares for its value, wherever in it.
    fn declared(&self, schema: &Value, depth: usize, names: &mut BTreeSet<String>) {
        let (Value::Object(fields), false) = (schema, depth == 0) else { return };
        names.extend(
            fields.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone()),
        );
        if let Some(target) = fields.get("$ref").and_then(Value::as_str).and_then(|reference| self.target(reference)) {
            self.declared(target, depth - 1, names);
        }
        for key in IN_PLACE {
            match fields.get(*key) {
                Some(Value::Array(parts)) => parts.iter().for_each(|part| self.declared(part, depth - 1, names)),
                Some(Value::Object(parts)) if *key == "dependentSchemas" => {
                    parts.values().for_each(|part| self.declared(part, depth - 1, names));
                }
                Some(part) => self.declared(part, depth - 1, names),
                None => {}
            }
        }
    }
}

/// Whether a part is one that was cut, or says as little.
fn is_cut(fields: &Map<String, Value>) -> bool {
    let empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    let object = fields.get("type").is_some_and(|kind| kind == "object");
    let kind = fields.get("type").is_none_or(Value::is_string);
    let described = fields.get("description").is_some_and(Value::is_string);
    let known = |key: &String| matches!(key.as_str(), "type" | "description" | "properties");
    kind && described
        && fields.keys().all(known)
        && match fields.get("properties") {
            Some(properties) => object && empty(properties),
            None => !object,
        }
}

/// Brings a part whose own parts are done to plain forms. Answers whether it still says exactly the same.
fn finish(out: &mut Map<String, Value>, place: &Place) -> bool {
    fold::fold(out);
    fold::derive_type(out);
    complete(out);
    if out.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        out.shift_remove("required");
    }
    if place.loosens { !prune(out, &place.known) } else { true }
}

/// An object says that it has fields, even if it does not say which.
pub(super) fn complete(out: &mut Map<String, Value>) {
    if out.get("type").is_some_and(|kind| kind == "object") && !out.contains_key("properties") {
        out.insert("properties".to_owned(), Value::Object(Map::new()));
    }
}

/// Takes names out of `required` that are declared nowhere. Answers whether any was.
fn prune(out: &mut Map<String, Value>, known: &BTreeSet<String>) -> bool {
    let described = out.contains_key("properties");
    let elsewhere =
        out.contains_key("patternProperties") || out.get("additionalProperties").is_some_and(Value::is_object);
    let Some(Value::Array(required)) = out.get("required") else { return false };
    let mut kept = required.clone();
    if described && !elsewhere {
        let mut names = known.clone();
        declared_in(out, DECLARED_DEPTH, &mut names);
        kept.retain(|name| name.as_str().is_some_and(|name| names.contains(name)));
    }
    let pruned = kept.len() < required.len();
    if kept.is_empty() {
        out.shift_remove("required");
    } else {
        out.insert("required".to_owned(), Value::Array(kept));
    }
    pruned
}

/// Prunes the root once it is known to be of an object.
pub(super) fn prune_root(root: &mut Map<String, Value>) {
    prune(root, &BTreeSet::new());
}

fn declared_in(fields: &Map<String, Value>, depth: usize, names: &mut BTreeSet<String>) {
    if depth == 0 {
        return;
    }
    names.extend(
        fields.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone()),
    );
    for key in IN_PLACE {
        let parts: Vec<&Value> = match fields.get(*key) {
            Some(Value::Array(parts)) => parts.iter().collect(),
            Some(Value::Object(parts)) if *key == "dependentSchemas" => parts.values().collect(),
            Some(part) => vec![part],
            None => Vec::new(),
        };
        for part in parts.into_iter().filter_map(Value::as_object) {
            declared_in(part, depth - 1, names);
        }
    }
}
