//! A machine that answers as it is told, by the path that is asked for, and remembers what it was asked.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What is done with a connection once its request is there.
#[derive(Clone)]
pub enum Answer {
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// These bytes, and then nothing until the other end is gone.
    Hangs(Vec<u8>),
    /// These bytes, then these again and again until the other end is gone.
    Forever(Vec<u8>, Vec<u8>),
}

/// One machine.
pub struct Server {
    pub address: SocketAddr,
    /// The requests that came: head and body.
    asked: Arc<Mutex<Vec<String>>>,
    /// How many connections the other end has left.
    left: watch::Receiver<usize>,
}

/// An answer with a body of this type.
pub fn ok(content_type: &str, body: impl AsRef<[u8]>) -> Answer {
    whole("200 OK", &[("Content-Type", content_type)], body)
}

/// An answer whose length is told.
pub fn whole(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
    let body = body.as_ref();
    let mut bytes = head(status, headers);
    bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes());
    bytes.extend(body);
    Answer::Bytes(bytes)
}

/// The beginning of an answer; what follows has to end it.
pub fn head(status: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<Vec<_>>().concat();
    format!("HTTP/1.1 {status}\r\n{lines}").into_bytes()
}

/// A redirect.
pub fn moved(location: &str) -> Answer {
    whole("302 Found", &[("Location", location)], "moved")
}

impl Server {
    pub async fn start(answers: Vec<(&str, Answer)>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers: Arc<BTreeMap<String, Answer>> =
            Arc::new(answers.into_iter().map(|(path, answer)| (path.to_owned(), answer)).collect());
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (leaves, left) = watch::channel(0);
        let (seen, leaves) = (Arc::clone(&asked), Arc::new(leaves));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, seen, leaves) = (Arc::clone(&answers), Arc::clone(&seen), Arc::clone(&leaves));
                tokio::spawn(async move {
                    serve(stream, &answers, &seen).await;
                    leaves.send_modify(|left| *left += 1);
                });
            }
        });
        Server { address, asked, left }
    }

    /// Its origin, as settings name it.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin())
    }

    /// The requests that came.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until so many connections are over.
    pub async fn left(&self, connections: usize) {
        self.left.clone().wait_for(|left| *left >= connections).await.unwrap();
    }
}

async fn serve(mut stream: TcpStream, answers: &BTreeMap<String, Answer>, seen: &Mutex<Vec<String>>) {
    let Some(request) = request(&mut stream).await else { return };
    let path = request.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
    seen.lock().unwrap().push(request);
    let nothing = whole("404 Not Found", &[("Content-Type", "text/plain")], "nothing here");
    let answer = answers.get(&path).cloned().unwrap_or(nothing);
    match answer {
        Answer::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Answer::Hangs(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let mut rest = [0; 64];
            while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
        }
        Answer::Forever(bytes, again) => {
            if stream.write_all(&bytes).await.is_ok() {
                while stream.write_all(&again).await.is_ok() {}
            }
        }
    }
}

async fn request(stream: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.to_ascii_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut piece).await {
            Ok(read) if read > 0 => bytes.extend(&piece[..read]),
            _ => return None,
        }
    }
}
