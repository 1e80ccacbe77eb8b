//! Who joins, as a person at the editor is asked about it, and what was answered before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::sync::Semaphore;
use tracing::info;

use crate::editor::{ApproveCall, ApproveParams, AskError, Consent, Editor, Risk};
use crate::process::Other;

use super::hello::Caller;

/// What a call is called that is no call: somebody wants to join.
const CALL: &str = "join";

/// One that was not let in so often in a row is not asked about any more.
const MOST_REFUSED: usize = 5;

/// The same for all together: whoever can start programs can start others.
const MOST_REFUSED_OF_ALL: usize = 20;

/// A command line is shown up to so many characters.
const LONGEST_LINE: usize = 300;

/// Somebody who wants to join.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Who {
    /// What it calls itself.
    pub name: String,
    /// The process that joins, or the one that started it, where the system shows it.
    pub process: Option<u32>,
    /// Its program and arguments, as the system shows them.
    pub program: Option<(PathBuf, Vec<String>)>,
    /// Whether all this is only its own word.
    pub unseen: bool,
}

/// Who it is. `peer`: the process at the other end of the socket, which is `joins` as far as the system shows it. Our own
/// program only passes on: then the one that started it is meant, `starter`.
pub(super) fn who(
    peer: Option<u32>,
    joins: Option<Other>,
    own: Option<&Path>,
    starter: impl FnOnce(u32) -> Option<Other>,
    caller: &Caller,
) -> Who {
    let passes_on = joins.as_ref().is_some_and(|joins| own.is_some_and(|own| joins.program == own));
    let (process, other) = match joins {
        Some(Other { parent: Some(parent), .. }) if passes_on => (Some(parent), starter(parent)),
        other => (peer, other),
    };
    let unseen = other.is_none();
    Who {
        name: caller.name.clone(),
        process: process.or(caller.process),
        program: other.map(|other| (other.program, other.arguments)),
        unseen,
    }
}

impl Who {
    /// What of it is remembered: the program and all of its arguments. Nothing, where they cannot be seen.
    fn key(&self) -> Option<String> {
        self.program.as_ref().map(|(program, arguments)| json!([program, arguments]).to_string())
    }

    /// What a person is shown, line by line.
    fn lines(&self) -> Vec<String> {
        let process = self.process.map_or_else(String::new, |process| format!(" (process {process})"));
        let program = match &self.program {
            Some((program, _)) => format!("{}{process}", program.display()),
            None => format!("a program that cannot be seen from here{process}"),
        };
        let mut lines = vec![program];
        if let Some((_, arguments)) = &self.program
            && arguments.len() > 1
        {
            let line = arguments.join(" ");
            let cut: String = line.chars().take(LONGEST_LINE).collect();
            let more = if cut.len() < line.len() { " ..." } else { "" };
            lines.push(format!("started as: {cut}{more}"));
        }
        if !self.name.is_empty() {
            lines.push(format!("calls itself: {}", self.name));
        }
        lines
    }
}

/// What was answered in this run, and the one question at a time.
#[derive(Debug)]
pub(super) struct Answers {
    let_in: Mutex<BTreeSet<String>>,
    /// How often who was not let in, since the last yes.
    refused: Mutex<BTreeMap<String, usize>>,
    asking: Semaphore,
}

impl Default for Answers {
    fn default() -> Answers {
        Answers { let_in: Mutex::default(), refused: Mutex::default(), asking: Semaphore::new(1) }
    }
}

impl Answers {
    /// Asks about one who wants to join, whose calls would be of this session. Why it stays out: words for the model.
    pub(super) async fn ask(&self, editor: &Arc<dyn Editor>, who: &Who, session: &str) -> Result<(), String> {
        // Who floods the door with requests makes one question of them at a time.
        let _turn = self.asking.acquire().await;
        let key = who.key();
        let known = |key: &String| self.lock().contains(key);
        if key.as_ref().is_some_and(known) {
            info!(session, ?who, "let in, as before");
            return Ok(());
        }
        // Those who cannot be seen are told apart by nobody.
        let counted = key.clone().unwrap_or_default();
        if self.asked_too_often(&counted) {
            info!(session, ?who, "not let in, and not asked about any more");
            return Err(
                "You are not let into the editor: its user was asked so often without a yes that nobody is asked any more \
                 until it is started again. Nothing was run. Do not try again; tell the user."
                    .to_owned(),
            );
        }
        // Counted before it is asked: one that goes in the middle of its question was not let in either.
        *self.refusals().entry(counted).or_default() += 1;
        let answer = if editor.can_approve() {
            editor.approve(question(who, session)).await
        } else {
            Err(AskError::Unsupported)
        };
        let decision = match answer {
            Ok(answer) => answer.decisions.into_iter().find(|decision| decision.call_id == CALL),
            Err(error) => {
                info!(session, ?who, %error, "not let in");
                return Err(format!(
                    "You are not let into the editor: its user has to consent, and could not be asked ({error}). Nothing \
                     was run. Tell the user; without `--connect`, `ropewalk mcp` works on the files on the disk."
                ));
            }
        };
        let consent = decision.as_ref().map_or(Consent::Deny, |decision| decision.decision);
        info!(session, ?who, ?consent, "asked about one who wants to join");
        match consent {
            Consent::Once | Consent::Session | Consent::Always => {
                self.refusals().clear();
                if consent != Consent::Once {
                    self.lock().extend(key);
                }
                Ok(())
            }
            Consent::Deny => {
                let said = decision.and_then(|decision| decision.feedback);
                let said = crate::dispatch::said(said.as_deref());
                Err(format!(
                    "The user did not let you into the editor; nothing was run.{said} Do not try again by yourself: to be \
                     asked anew they have to start this connection again."
                ))
            }
        }
    }

    fn asked_too_often(&self, key: &str) -> bool {
        let refused = self.refusals();
        let own = refused.get(key).copied().unwrap_or_default();
        own >= MOST_REFUSED || refused.values().sum::<usize>() >= MOST_REFUSED_OF_ALL
    }

    fn refusals(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.let_in.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn question(who: &Who, session: &str) -> ApproveParams {
    let own_word = if who.unseen { "; what is said of it here is its own word" } else { "" };
    ApproveParams {
        session_id: session.to_owned(),
        calls: vec![ApproveCall {
            call_id: CALL.to_owned(),
            name: CALL.to_owned(),
            arguments: json!({ "name": who.name, "process": who.process, "session": session }),
            targets: who.lines(),
            diff: None,
            reason: format!(
                "this program wants to join the editor, to read and change what is open in it as an agent does, by the \
                 same rules, as session {session}{own_word}"
            ),
            risk: Risk::High,
            suggested_rule: None,
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    use async_trait::async_trait;

    use crate::editor::{Abilities, Absent, ApproveDecision, ApproveResult, News};

    fn other(program: &str, arguments: &[&str], parent: Option<u32>) -> Other {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Other { program: PathBuf::from(program), arguments, parent }
    }

    fn caller() -> Caller {
        Caller { name: "agent".into(), process: Some(99) }
    }

    #[test]
    fn who_only_passes_on_is_not_the_one() {
        let own = Path::new("/bin/ropewalk");
        let agent = || other("/bin/node", &["node", "agent.js"], Some(1));
        let passed =
            who(Some(7), Some(other("/bin/ropewalk", &["ropewalk"], Some(5))), Some(own), |_| Some(agent()), &caller());
        assert_eq!((passed.process, passed.program.clone().unwrap().0), (Some(5), PathBuf::from("/bin/node")));
        assert!(!passed.unseen);
        let itself = who(Some(7), Some(agent()), Some(own), |_| panic!("not asked"), &caller());
        assert_eq!((itself.process, itself.program.unwrap().0), (Some(7), PathBuf::from("/bin/node")));
        let unseen = who(None, None, Some(own), |_| panic!("not asked"), &caller());
        assert_eq!((unseen.process, unseen.program.clone(), unseen.unseen), (Some(99), None, true));
        assert_eq!(unseen.key(), None, "nothing is remembered of one that cannot be seen");
        // Another script for the same interpreter is another program.
        let twin = Who { program: Some(("/bin/node".into(), vec!["node".into(), "evil.js".into()])), ..passed.clone() };
        assert_ne!(passed.key(), twin.key());
    }

    #[test]
    fn all_is_shown() {
        let who = who(Some(7), Some(other("/bin/node", &["node", "a.js"], None)), None, |_| None, &caller());
        assert_eq!(who.lines(), ["/bin/node (process 7)", "started as: node a.js", "calls itself: agent"]);
        let bare = Who::default();
        assert_eq!(bare.lines(), ["a program that cannot be seen from here"]);
    }

    /// An editor whose user answers so.
    struct Person(Mutex<VecDeque<Option<Consent>>>);

    #[async_trait]
    impl Editor for Person {
        fn abilities(&self) -> Abilities {
            Abilities { approve: true, ..Abilities::default() }
        }

        async fn approve(&self, params: ApproveParams) -> Result<ApproveResult, AskError> {
            let answer = self.0.lock().unwrap().pop_front().expect("asked too often");
            let decisions = answer.into_iter().map(|decision| ApproveDecision {
                call_id: params.calls[0].call_id.clone(),
                decision,
                arguments: None,
                feedback: Some("not today".into()),
            });
            Ok(ApproveResult { decisions: decisions.collect() })
        }

        fn tell(&self, _: News) {}
    }

    #[tokio::test]
    async fn only_a_yes_lets_in_and_only_a_yes_for_longer_is_remembered() {
        let node = who(Some(7), Some(other("/bin/node", &["node"], None)), None, |_| None, &caller());
        let unseen = who(None, None, None, |_| None, &caller());
        for (who, given, let_in) in [
            (&node, vec![Some(Consent::Once), Some(Consent::Deny)], [true, false]),
            (&node, vec![Some(Consent::Session)], [true, true]),
            (&node, vec![Some(Consent::Always)], [true, true]),
            (&node, vec![Some(Consent::Deny), Some(Consent::Once)], [false, true]),
            (&node, vec![None, None], [false, false]),
            (&unseen, vec![Some(Consent::Session), Some(Consent::Deny)], [true, false]),
        ] {
            let person = Arc::new(Person(Mutex::new(given.clone().into())));
            let editor = Arc::clone(&person) as Arc<dyn Editor>;
            let answers = Answers::default();
            for expected in let_in {
                let answer = answers.ask(&editor, who, "mcp-1").await;
                assert_eq!(answer.is_ok(), expected, "{given:?} {answer:?}");
                if given[0] == Some(Consent::Deny) && !expected {
                    assert!(answer.unwrap_err().contains("They said: not today"));
                }
            }
            assert!(person.0.lock().unwrap().is_empty(), "{given:?}");
        }
        let given = [Some(Consent::Deny), None, Some(Consent::Once)];
        let given: VecDeque<_> = given.into_iter().chain([Some(Consent::Deny); MOST_REFUSED_OF_ALL]).collect();
        let person = Arc::new(Person(Mutex::new(given)));
        let (editor, answers) = (Arc::clone(&person) as Arc<dyn Editor>, Answers::default());
        let left = || person.0.lock().unwrap().len();
        for let_in in [false, false, true, false, false, false, false, false] {
            assert_eq!(answers.ask(&editor, &node, "mcp-1").await.is_ok(), let_in);
        }
        // It was told no so often in a row that nobody is bothered any more; others are asked about, for a while.
        let (before, refusal) = (left(), answers.ask(&editor, &node, "mcp-1").await.unwrap_err());
        assert!(left() == before && refusal.contains("nobody is asked any more"), "{refusal}");
        for number in 0..100 {
            let another = Who { program: Some(("/bin/x".into(), vec![number.to_string()])), ..node.clone() };
            assert!(answers.ask(&editor, &another, "mcp-1").await.is_err());
        }
        assert_eq!(left(), 0, "so many of all together");
        let nobody = Arc::new(Absent) as Arc<dyn Editor>;
        let refusal = Answers::default().ask(&nobody, &node, "mcp-1").await.unwrap_err();
        assert!(refusal.contains("could not be asked"), "{refusal}");
    }
}
