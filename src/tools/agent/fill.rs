//! What stands for something in the command line of an agent, and is replaced by it: literally, once, no shell between.
//! Pure.

use std::collections::BTreeMap;

use crate::config::{AgentSettings, PromptOn};

/// What is put in, by name.
pub(super) type Fillings<'a> = BTreeMap<&'a str, &'a str>;

/// The text with what stands in braces replaced, if it is one of these; all else as it is. What was put in is not looked at
/// again.
pub(super) fn filled(text: &str, fillings: &Fillings<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, tail) = rest.split_at(at);
        out.push_str(before);
        let named = tail[1..].split_once('}').and_then(|(name, after)| Some((fillings.get(name)?, after)));
        if let Some((filling, after)) = named {
            out.push_str(filling);
            rest = after;
        } else {
            out.push('{');
            rest = &tail[1..];
        }
    }
    out.push_str(rest);
    out
}

/// The arguments of a command line of an agent, and what it reads from its standard input.
pub(super) fn arguments(
    agent: &AgentSettings,
    command: &[String],
    fillings: &Fillings<'_>,
) -> (Vec<String>, Option<String>) {
    let prompt = fillings.get("prompt").copied().unwrap_or_default();
    let on = agent.prompt_on(command);
    // What a model wrote is no option of the program's: nothing takes what begins with a space for one.
    let plain = if prompt.starts_with('-') { format!(" {prompt}") } else { prompt.to_owned() };
    let mut fillings = fillings.clone();
    fillings.insert("prompt", &plain);
    let mut arguments: Vec<String> = command.iter().skip(1).map(|argument| filled(argument, &fillings)).collect();
    let stands = command.iter().skip(1).any(|argument| argument.contains("{prompt}"));
    match on {
        PromptOn::Argument => {
            if !stands {
                arguments.push(plain);
            }
            (arguments, None)
        }
        PromptOn::Stdin => (arguments, Some(prompt.to_owned())),
    }
}

/// An agent's own name of a conversation, if it is fit to stand in a command line.
pub(super) fn thread(found: &str) -> Option<String> {
    const LONGEST: usize = 200;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let fit = !found.is_empty() && found.len() <= LONGEST && !found.starts_with('-') && found.chars().all(plain);
    fit.then(|| found.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn what_stands_for_something_is_replaced_once_and_literally() {
        let fillings = Fillings::from([("prompt", "say {socket} $(id) 'x'"), ("socket", "/run/s"), ("empty", "")]);
        for (text, expected) in [
            ("{prompt}", "say {socket} $(id) 'x'"),
            ("--at={socket}", "--at=/run/s"),
            ("{socket}{socket}", "/run/s/run/s"),
            ("{\"mcp\": \"{socket}\"}", "{\"mcp\": \"/run/s\"}"),
            ("{other} {", "{other} {"),
            ("{{socket}}", "{/run/s}"),
            ("[{empty}]", "[]"),
            ("é{socket}é", "é/run/sé"),
            ("", ""),
        ] {
            assert_eq!(filled(text, &fillings), expected, "{text}");
        }
    }

    #[test]
    fn the_prompt_goes_where_it_is_wanted_and_is_no_option() {
        for (command, on, prompt, arguments_are, input) in [
            (&["a", "exec", "{prompt}"][..], None, "look", &["exec", "look"][..], None),
            (&["a", "exec"], None, "look", &["exec"], Some("look")),
            (&["a", "-p"], Some(PromptOn::Argument), "look", &["-p", "look"], None),
            (&["a", "{prompt}"], None, "--danger", &[" --danger"], None),
            (&["a"], Some(PromptOn::Argument), "-x", &[" -x"], None),
            (&["a", "-"], None, "--danger", &["-"], Some("--danger")),
            (&["a"], None, "a b\n\"c\" $d", &[], Some("a b\n\"c\" $d")),
        ] {
            let command = owned(command);
            let agent = AgentSettings { command: command.clone(), prompt_on: on, ..AgentSettings::default() };
            let fillings = Fillings::from([("prompt", prompt)]);
            let expected = (owned(arguments_are), input.map(str::to_owned));
            assert_eq!(arguments(&agent, &command, &fillings), expected, "{command:?} {prompt}");
        }
    }

    #[test]
    fn a_thread_is_a_plain_word() {
        for (found, fit) in [
            ("0199a213-81c0-7800", true),
            ("thread_1.2:3", true),
            ("", false),
            ("--last", false),
            ("a b", false),
            ("a;b", false),
            ("é", false),
        ] {
            assert_eq!(thread(found).is_some(), fit, "{found}");
        }
        assert_eq!(thread(&"x".repeat(201)), None);
    }
}
