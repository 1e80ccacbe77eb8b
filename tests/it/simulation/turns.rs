//! Turns between the tasks and the pool of blocking threads, which no machine decides.

/// So many turns are taken by what is under way before time goes by.
pub const ROUNDS: usize = 15;

/// So often every task gets on before the pool does.
const YIELDS: usize = 40;

/// Lets all tasks get on, and then everything that they left to the pool of blocking threads: one after the other, so that
/// which of them is sooner does not depend on the machine. (The pool has one thread, and takes jobs in their order.)
pub async fn by_turns() {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (tell, done) = std::sync::mpsc::channel::<()>();
    drop(tokio::task::spawn_blocking(move || held.recv()));
    for _ in 0..YIELDS {
        tokio::task::yield_now().await;
    }
    drop(tokio::task::spawn_blocking(move || tell.send(())));
    drop(release);
    // Nobody gets on meanwhile.
    let _ = done.recv();
}
