//! The steps: what each does, what it waits for, and what became of it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Asked, Done, Ended, Hello, Pending, Stage, Unallowed, Wait};
use crate::fake_editor::expect::{self, Facts, Miss, content_of};
use crate::fake_editor::script::Line;
use crate::fake_editor::step::{Call, Expect, Step};
use crate::fake_editor::values::{map_texts, merge, uri, without_times};

/// What the sidecar says of a call that needs consent where nobody can give it.
const NOBODY: &str = "nobody could be asked";

impl Stage {
    /// The step with the places of this run in it: `${root}` and `${rootUri}`.
    fn here(&self, step: &Step) -> Result<Step, String> {
        let (root, root_uri) = (self.setup.root.to_string_lossy().into_owned(), uri(&self.setup.root));
        let value = serde_json::to_value(step).map_err(|error| error.to_string())?;
        let value = map_texts(value, &|text| text.replace("${rootUri}", &root_uri).replace("${root}", &root));
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    /// A result as it is shown and compared: without times, and with `${root}` for the folder of this run.
    pub(in crate::fake_editor) fn shown(&self, value: &Value) -> Value {
        if !self.setup.repeatable {
            return value.clone();
        }
        let mut value = map_texts(value.clone(), &|text| self.shown_text(text));
        without_times(&mut value);
        value
    }

    /// A text as it is shown.
    pub(in crate::fake_editor) fn shown_text(&self, text: &str) -> String {
        if !self.setup.repeatable {
            return text.to_owned();
        }
        let root = self.setup.root.to_string_lossy().into_owned();
        text.replace(&uri(&self.setup.root), "${rootUri}").replace(&root, "${root}")
    }

    /// Does a step; what it waits for. The error says why it cannot be done.
    pub(in crate::fake_editor) async fn begin(&mut self, line: &Line) -> Result<Wait, String> {
        if Stage::needs_hello(line) {
            self.greet().await?;
        }
        let step = self.here(&line.step)?;
        let begun = self.begin_step(&step);
        self.act();
        begun
    }

    fn begin_step(&mut self, step: &Step) -> Result<Wait, String> {
        if let Step::Editor(behaviour) = step
            && (behaviour.manner.is_some() || !behaviour.abilities.is_empty())
            && !matches!(self.hello, Hello::Unsaid)
        {
            return Err("which editor it is, and what it can do, is said before everything else".to_owned());
        }
        let mut wait = Wait::default();
        match step {
            Step::Settings(settings) => {
                let mut all = Value::Object(self.setup.settings.clone());
                merge(&mut all, &Value::Object(settings.settings.clone()));
                self.link.notify("workspace/didChangeConfiguration", &json!({ "settings": { "ropewalk": all } }));
            }
            Step::Trust(trust) => {
                let named = trust.path.as_deref().map(|path| self.editor.path_of(path)).transpose()?;
                let folder = named.unwrap_or_else(|| self.setup.root.clone());
                self.link.notify("ropewalk/didChangeTrust", &json!({ "root": uri(&folder), "trusted": trust.trusted }));
            }
            Step::Session(session) => {
                let mut params = Value::Object(session.wishes.clone());
                params["sessionId"] = json!(session.id);
                self.session = Some(session.id.clone());
                wait.own.push((Asked::Other, self.ask("ropewalk/openSession", &params)));
            }
            Step::Call(call) => {
                let (label, mut params) = self.params_of(call);
                if let Some(session) = call.session_id.as_ref().or(self.session.as_ref()) {
                    params["sessionId"] = json!(session);
                }
                self.ended.remove(&label);
                let id = self.link.request("ropewalk/callTool", &params);
                self.pending.insert(id, Pending::Labelled(label.clone()));
                if call.wait.unwrap_or(self.setup.waits) {
                    wait.labels.push(label);
                }
            }
            Step::Calls(calls) => {
                let (labels, each): (Vec<String>, Vec<Value>) =
                    calls.calls.iter().map(|call| self.params_of(call)).unzip();
                let mut params = json!({ "calls": each });
                if let Some(session) = calls.session_id.as_ref().or(self.session.as_ref()) {
                    params["sessionId"] = json!(session);
                }
                self.ended.retain(|label, _| !labels.contains(label));
                let id = self.link.request("ropewalk/callTools", &params);
                self.pending.insert(id, Pending::Calls(labels.clone()));
                if calls.wait.unwrap_or(self.setup.waits) {
                    wait.labels = labels;
                }
            }
            Step::Await(awaited) => {
                self.known(&awaited.call)?;
                wait.labels.push(awaited.call.clone());
            }
            Step::Cancel(cancel) => {
                let mut params = json!({});
                if let Some(call) = &cancel.call {
                    self.known(call)?;
                    params["callId"] = json!(call);
                }
                if let Some(session) = &self.session {
                    params["sessionId"] = json!(session);
                }
                wait.own.push((Asked::Other, self.ask("ropewalk/cancel", &params)));
            }
            Step::Request(request) => {
                let id = self.link.request(&request.method, &request.params);
                let label = request.label.clone().unwrap_or_else(|| request.method.clone());
                self.ended.remove(&label);
                self.pending.insert(id, Pending::Labelled(label.clone()));
                if request.wait.unwrap_or(self.setup.waits) {
                    wait.labels.push(label);
                }
            }
            Step::Notify(notify) => self.link.notify(&notify.method, &notify.params),
            Step::Until(until) => {
                let before = self.waited_for.get(&until.method).copied().unwrap_or(0);
                let nth = until.nth.unwrap_or(before + 1);
                self.waited_for.insert(until.method.clone(), nth.max(before));
                wait.until = Some((until.method.clone(), nth));
            }
            Step::Settle(settle) => {
                let params = json!({ "deadlineMs": settle.deadline_ms });
                wait.own.push((Asked::Settle, self.ask("ropewalk/settle", &params)));
            }
            Step::Expect(expect) => self.ask_for(expect, &mut wait)?,
            of_the_editor => self.editor.step(of_the_editor)?,
        }
        Ok(wait)
    }

    /// A call's label and its params, but for the session.
    fn params_of(&mut self, call: &Call) -> (String, Value) {
        self.calls += 1;
        let label = call.label.clone().unwrap_or_else(|| format!("c{}", self.calls));
        let mut params = Value::Object(call.params.clone());
        params["callId"] = json!(label);
        params["name"] = json!(call.name);
        // Without arguments the sidecar takes those that streamed in before.
        if !call.arguments.is_null() {
            params["arguments"] = call.arguments.clone();
        }
        (label, params)
    }

    /// The error: there is no such call.
    fn known(&self, label: &str) -> Result<(), String> {
        let pending: BTreeSet<&str> = self
            .pending
            .values()
            .flat_map(|pending| match pending {
                Pending::Labelled(label) => std::slice::from_ref(label),
                Pending::Calls(labels) => labels.as_slice(),
                Pending::Own => &[],
            })
            .map(String::as_str)
            .collect();
        let known = self.ended.contains_key(label) || pending.contains(label);
        if known { Ok(()) } else { Err(format!("there is no call `{label}`")) }
    }

    /// Asks what an expectation has to know.
    fn ask_for(&mut self, expect: &Expect, wait: &mut Wait) -> Result<(), String> {
        let uri = expect.path.as_deref().map(|path| self.editor.uri_of(path)).transpose()?;
        if let Some(uri) = &uri
            && expect.looks_at_the_mirror(self.editor.holds_back())
            && self.editor.documents.contains_key(uri)
        {
            wait.own.push((Asked::Mirror, self.ask("ropewalk/documentText", &json!({ "uri": uri }))));
        }
        if expect.changes.is_some() || expect.proposals.is_some() {
            let mut params = json!({});
            if let Some(uri) = &uri {
                params["uri"] = json!(uri);
            }
            wait.own.push((Asked::Changes, self.ask("ropewalk/changes", &params)));
        }
        if let Some(call) = &expect.call {
            self.known(call)?;
            wait.labels.push(call.clone());
        }
        Ok(())
    }

    /// Whether what a step waits for is there.
    pub(in crate::fake_editor) fn ready(&self, wait: &Wait) -> bool {
        wait.labels.iter().all(|label| self.ended.contains_key(label))
            && wait.own.iter().all(|(_, id)| self.answers.contains_key(id))
            && wait
                .until
                .as_ref()
                .is_none_or(|(method, nth)| self.editor.answers.received.get(method).is_some_and(|count| count >= nth))
    }

    /// What became of a step, once it is ready. The error says why it went wrong.
    pub(in crate::fake_editor) fn finish(&mut self, line: &Line, wait: Wait) -> Result<Done, String> {
        let mut own = Vec::new();
        for (asked, id) in wait.own {
            match self.answers.remove(&id) {
                Some(Ended::Result(result)) => own.push((asked, result)),
                Some(Ended::Error(error)) => {
                    return Err(format!("it was answered with an error: {}", error["message"]));
                }
                None => {}
            }
        }
        let mut done = Done::default();
        match &line.step {
            Step::Expect(_) => {
                let Step::Expect(expect) = self.here(&line.step)? else { return Ok(done) };
                done.misses = self.judge(&expect, &own);
                done.summary = expect::in_words(&expect);
            }
            Step::Settle(_) => {
                if let Some((_, settled)) =
                    own.first().filter(|(asked, answer)| *asked == Asked::Settle && answer["settled"] != true)
                {
                    return Err(format!("this is still under way: {}", settled["open"]));
                }
            }
            _ => {
                done.ended = wait
                    .labels
                    .iter()
                    .filter_map(|label| Some((label.clone(), self.shown(&self.ended.get(label)?.value()))))
                    .collect();
            }
        }
        let nobody = done.ended.iter().filter_map(|(label, result)| {
            let reason = content_of(result);
            // An editor that cannot show a question is not asked one.
            let unasked = result["status"] == "denied" && reason.contains(NOBODY);
            unasked.then(|| Unallowed { call: label.clone(), reason, rule: None })
        });
        self.editor.answers.unallowed.extend(nobody);
        let all = &self.editor.answers.unallowed;
        done.unallowed = all.get(self.told_unallowed..).unwrap_or_default().to_vec();
        self.told_unallowed = all.len();
        Ok(done)
    }

    fn judge(&self, expect: &Expect, own: &[(Asked, Value)]) -> Vec<Miss> {
        let answer = |wanted: Asked| own.iter().find(|(asked, _)| *asked == wanted).map(|(_, answer)| answer);
        let uri = expect.path.as_deref().and_then(|path| self.editor.uri_of(path).ok());
        let label = expect.call.as_ref().or(self.last.as_ref());
        let result = label.and_then(|label| Some((label.as_str(), self.ended.get(label)?.value())));
        let facts = Facts {
            document: uri.as_ref().and_then(|uri| self.editor.documents.get(uri)),
            file: uri.as_ref().and_then(|uri| self.editor.file_of(uri)),
            mirror: answer(Asked::Mirror),
            changes: answer(Asked::Changes),
            result: result.as_ref().map(|(label, result)| (*label, result)),
            asked: self.editor.answers.asked(),
            received: &self.editor.answers.received,
            unallowed: &self.editor.answers.unallowed,
        };
        let mut misses = expect::judge(expect, &facts);
        for miss in &mut misses {
            for text in [&mut miss.what, &mut miss.expected, &mut miss.found].into_iter().chain(&mut miss.fix) {
                *text = self.shown_text(text);
            }
        }
        misses
    }
}
