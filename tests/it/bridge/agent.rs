//! A client of MCP for these tests: it answers as it is told to, and keeps what it hears.

#![expect(deprecated, reason = "the revisions of MCP that we speak have folders; the newest one has not")]

use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    Implementation, ListRootsResult, ProgressNotificationParam, ProtocolVersion, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient, RunningService};
use rmcp::{ClientHandler, ErrorData, ServiceExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

/// What a client heard.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    Progress(f64, Option<String>),
    Tools,
    Resources,
    Updated(String),
    Asked(String),
}

/// How a client is.
#[derive(Clone, Default)]
pub struct Manner {
    /// What it declares.
    pub capabilities: Value,
    /// Its folders.
    pub roots: Vec<String>,
    /// What its user answers to each question; `None`: nothing, ever.
    pub answer: Option<Value>,
}

pub struct Agent {
    manner: Manner,
    heard: mpsc::UnboundedSender<Heard>,
    /// The questions that were taken back.
    pub taken_back: Arc<Mutex<usize>>,
}

/// A running client.
pub struct Running {
    pub service: RunningService<RoleClient, Agent>,
    pub heard: mpsc::UnboundedReceiver<Heard>,
    pub taken_back: Arc<Mutex<usize>>,
}

impl Agent {
    fn hear(&self, heard: Heard) {
        let _ = self.heard.send(heard);
    }
}

impl ClientHandler for Agent {
    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities = match &self.manner.capabilities {
            Value::Null => ClientCapabilities::default(),
            declared => serde_json::from_value(declared.clone()).unwrap(),
        };
        ClientConfig::new(capabilities, Implementation::new("test-agent", "1.0"))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let roots: Vec<Value> = self.manner.roots.iter().map(|uri| json!({ "uri": uri })).collect();
        Ok(serde_json::from_value(json!({ "roots": roots })).unwrap())
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(&request).unwrap();
        self.hear(Heard::Asked(request["message"].as_str().unwrap_or_default().to_owned()));
        if let Some(answer) = &self.manner.answer {
            Ok(serde_json::from_value(answer.clone()).unwrap())
        } else {
            context.ct.cancelled().await;
            *self.taken_back.lock().unwrap() += 1;
            Err(ErrorData::internal_error("taken back", None))
        }
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.hear(Heard::Progress(told.progress, told.message));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.hear(Heard::Tools);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.hear(Heard::Resources);
    }

    async fn on_resource_updated(&self, told: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.hear(Heard::Updated(told.uri));
    }
}

/// Starts a client over a pair of pipes.
pub async fn start<R, W>(manner: Manner, input: R, output: W) -> Running
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (heard, hears) = mpsc::unbounded_channel();
    let taken_back = Arc::<Mutex<usize>>::default();
    let agent = Agent { manner, heard, taken_back: Arc::clone(&taken_back) };
    let service = agent.serve((input, output)).await.unwrap();
    Running { service, heard: hears, taken_back }
}

/// The params of a call.
pub fn call(name: &'static str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    CallToolRequestParams::new(name).with_arguments(arguments)
}

impl Running {
    /// Calls a tool; its result as JSON.
    pub async fn call(&self, name: &'static str, arguments: Value) -> Value {
        result(self.service.peer().call_tool(call(name, arguments)).await.unwrap())
    }

    /// Waits for something to be heard.
    pub async fn hears(&mut self, fits: impl Fn(&Heard) -> bool) -> Heard {
        loop {
            let heard = self.heard.recv().await.expect("it goes on");
            if fits(&heard) {
                return heard;
            }
        }
    }
}

/// A result as JSON.
pub fn result(result: CallToolResult) -> Value {
    serde_json::to_value(result).unwrap()
}

/// The text of a result.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// How a call ended.
pub fn status(result: &Value) -> &str {
    result["_meta"]["ropewalk/status"].as_str().unwrap_or_default()
}
