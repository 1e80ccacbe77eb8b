//! What is asked and what is made of the answers.

use std::collections::BTreeMap;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;

fn questions(arguments: Value) -> Result<Vec<AskQuestion>, String> {
    asked(&serde_json::from_value(arguments).unwrap()).map_err(|error| error.message)
}

#[test]
fn every_dialect_is_one_question() {
    let one = questions(json!({ "questions": [{
        "question": "Which?", "header": "Pick", "multiple": false, "custom": true,
        "options": [{ "label": "A", "description": "The first." }, { "label": "B" }],
    }] }))
    .unwrap();
    for other in [
        json!({ "questions": [{ "question": " Which? ", "header": "Pick",
            "options": [{ "label": "A", "description": "The first." }, "B"] }] }),
        json!({ "questions": [{ "text": "Which?", "header": "Pick", "multiSelect": false,
            "choices": [{ "name": "A", "description": "The first." }, { "description": "B" }] }] }),
    ] {
        assert_eq!(questions(other), Ok(one.clone()));
    }
    let single = questions(json!({ "question": "Which?", "options": ["A"] })).unwrap();
    assert_eq!((single[0].options.len(), single[0].custom, single[0].multiple), (1, true, false));
    let free = questions(json!({ "questions": [{ "question": "Why?", "custom": false, "multiple": true }] })).unwrap();
    assert_eq!((free[0].custom, free[0].multiple), (true, false), "without options only words are left");
}

#[test]
fn nothing_unseen_is_asked() {
    let asked = questions(json!({ "questions": [{
        "question": "Delete?\r\n\tAll\u{202e} of it\u{1b}[31m",
        "header": "a\u{200b}b",
        "options": ["Yes", "Yes\u{2060}", { "label": "⚠\u{fe0f} No", "description": "می\u{200c}خواهم\nx" }],
    }] }));
    expect![[r#"
        "Delete?\n\tAll\\u{202e} of it\\u{1b}[31m" "a\\u{200b}b"
        "Yes" None
        "Yes\\u{2060}" None
        "⚠\u{fe0f} No" Some("می\u{200c}خواهم\nx")
    "#]]
    .assert_eq(&{
        let question = &asked.unwrap()[0];
        let mut out = format!("{:?} {:?}\n", question.question, question.header.as_ref().unwrap());
        for option in &question.options {
            out.extend([format!("{:?} {:?}\n", option.label, option.description)]);
        }
        out
    });
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_way_out() {
    let many = |count: usize| (0..count).map(|at| json!(at.to_string())).collect::<Vec<Value>>();
    for (arguments, words) in [
        (json!({}), "0 questions were given"),
        (json!({ "questions": [] }), "0 questions were given"),
        (json!({ "questions": vec![json!({ "question": "?" }); 11] }), "11 questions were given"),
        (json!({ "questions": [{ "question": "A?" }, { "question": "  " }] }), "question 2 has no text"),
        (json!({ "question": "A?", "questions": [{ "question": "B?" }] }), "both `question` and `questions`"),
        (json!({ "options": ["A"], "questions": [{ "question": "B?" }] }), "`options` belong to a `question`"),
        (json!({ "question": "A?", "options": many(21) }), "21 options; at most 20"),
        (json!({ "question": "A?", "options": ["Yes", "yes "] }), "two options of question 1 have the label \"yes\""),
        (json!({ "question": "A?", "options": ["Yes", {}] }), "option 2 of question 1 has no `label`"),
        (json!({ "question": "a".repeat(40_000) }), "40000 bytes; at most 32768"),
    ] {
        let refused = questions(arguments).unwrap_err();
        assert!(refused.contains(words) && refused.contains("For example"), "{refused}");
    }
}

fn said(result: &Value) -> String {
    let questions = questions(json!({ "questions": [
        { "question": "Which\none?", "options": ["Red", "Green", "Blue"], "custom": false },
        { "question": "Which ones?", "options": ["Red", "Green", "Blue"], "multiple": true },
        { "question": "Why?" },
    ] }))
    .unwrap();
    let outcome = told(&questions, &AskResult::read(result).unwrap()).unwrap();
    match outcome.content.as_slice() {
        [Content::Text { text }] => format!("{text}\n{}", outcome.structured.unwrap()["answers"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_answered_is_told() {
    let answers =
        json!({ "answers": [{ "selected": [1] }, { "selected": ["blue", 0], "text": "and grey" }, "Because."] });
    expect![[r#"
        The person answered.
        1. Which
           one?
           - Green
        2. Which ones?
           - Red
           - Blue
           In their own words: and grey
        3. Why?
           In their own words: Because.
        [{"question":"Which\none?","answered":true,"selected":["Green"],"text":null},{"question":"Which ones?","answered":true,"selected":["Red","Blue"],"text":"and grey"},{"question":"Why?","answered":true,"selected":[],"text":"Because."}]"#]]
    .assert_eq(&said(&answers));
}

#[test]
fn what_does_not_fit_is_told_too() {
    let answers = json!({ "answers": [["Red", "Mauve", 2, 9], null, { "text": " " }, "left over"], "cancelled": true });
    expect![[r#"
        The person answered, and closed the question before its end.
        1. Which
           one?
           - Red
           - Blue
           (the answer "Mauve" is none of the options)
           (option 9 was chosen, counted from 0, and there are 3)
           (2 options were chosen where one was asked for)
        2. Which ones?
           (no answer)
        3. Why?
           (no answer)
        The editor also sent an answer to no question: {"selected":["left over"]}
        Go on without what was not answered, or ask anew where it cannot be done without.
        [{"question":"Which\none?","answered":true,"selected":["Red","Blue"],"text":null},{"question":"Which ones?","answered":false,"selected":[],"text":null},{"question":"Why?","answered":false,"selected":[],"text":null}]"#]]
    .assert_eq(&said(&answers));
    assert!(said(&Value::Null).starts_with("The person closed the question without an answer."));
    assert!(said(&json!({ "answers": [] })).starts_with("The person gave no answer."));
}

#[test]
fn what_could_not_be_asked_is_no_answer_of_the_persons() {
    let questions = questions(json!({ "question": "Why?" })).unwrap();
    let unasked = BTreeMap::from([(0, "it wants a text".to_owned())]);
    let error = told(&questions, &AskResult { unasked, ..AskResult::default() }).unwrap_err();
    assert!(error.kind == ErrorKind::Failed && error.message.contains("it wants a text"), "{error}");
}
