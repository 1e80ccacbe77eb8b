//! Whether a client is in: its calls wait until that is known, and are not begun when it stays out.

use tokio::sync::watch;

/// What keeps calls waiting.
#[derive(Debug, Clone)]
pub(super) struct Entrance(watch::Receiver<Option<Result<(), String>>>);

/// Decides.
#[derive(Debug)]
pub(super) struct Doorkeeper(watch::Sender<Option<Result<(), String>>>);

/// An entrance that is not decided about yet.
pub(super) fn entrance() -> (Doorkeeper, Entrance) {
    let (sender, receiver) = watch::channel(None);
    (Doorkeeper(sender), Entrance(receiver))
}

impl Doorkeeper {
    /// It is decided. Why it stays out: words for the model.
    pub(super) fn decide(&self, decision: Result<(), String>) {
        self.0.send_replace(Some(decision));
    }
}

impl Entrance {
    /// Waits until it is decided; why the client stays out.
    pub(super) async fn passed(&self) -> Result<(), String> {
        let mut decided = self.0.clone();
        match decided.wait_for(Option::is_some).await {
            Ok(decision) => decision.clone().unwrap_or(Ok(())),
            Err(_) => Err("The editor is gone; nothing was run.".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[test]
    fn nobody_passes_before_it_is_decided() {
        let (keeper, entrance) = entrance();
        assert_eq!(entrance.passed().now_or_never(), None);
        keeper.decide(Ok(()));
        assert_eq!(entrance.passed().now_or_never(), Some(Ok(())));
        keeper.decide(Err("no".into()));
        assert_eq!(entrance.passed().now_or_never(), Some(Err("no".into())));
        let (keeper, entrance) = super::entrance();
        drop(keeper);
        assert!(entrance.passed().now_or_never().unwrap().is_err());
    }
}
