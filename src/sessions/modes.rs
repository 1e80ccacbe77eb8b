//! What a session asks for, in which mode it is, and what its calls are judged by: its own word, within that of the session
//! that it works for.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::policy::{Around, Effective, Switch, Wanted};
use super::{POLICY, Session, kin, lock};
use crate::config::{Mode, Settings};
use crate::permissions::Policy;
use crate::ports::env;

impl Session {
    /// What it asks for, as far as the session that it works for has it, if there is one.
    pub fn wanted(&self) -> Wanted {
        match &self.above {
            None => self.own(),
            Some(above) => kin::narrowed(self.own(), &above.wanted()),
        }
    }

    /// What it asks for itself.
    pub(super) fn own(&self) -> Wanted {
        self.part(POLICY).unwrap_or_default()
    }

    /// Its mode and the one that it may not be looser than, with what it wants in the place of what it does; `danger`: the
    /// person set that, which holds for a session alone and not for those that work for it.
    fn modes(&self, own: &Wanted, danger: bool, settings: &Settings) -> (Mode, Mode) {
        match &self.above {
            None => own.modes(danger, &settings.permissions),
            Some(above) => kin::modes(own, above.modes(&above.own(), false, settings)),
        }
    }

    fn is_danger(&self) -> bool {
        self.danger.load(Ordering::Relaxed)
    }

    /// Changes what it asks for.
    pub fn want(&self, change: impl FnOnce(&mut Wanted)) {
        self.change_part(POLICY, change);
    }

    /// The person chose a mode. Danger counts for as long as this session is open in this run.
    pub fn set_mode(&self, mode: Mode) {
        self.danger.store(mode == Mode::Danger, Ordering::Relaxed);
        // What a model asked for before was asked of another mode.
        let _ = self.take_switch();
        self.want(|wanted| wanted.choose(mode));
    }

    /// A model asked for another mode. It is changed once the round is over.
    pub fn ask_switch(&self, switch: Switch) {
        *lock(&self.switch) = Some(switch);
    }

    /// The change of its mode that a model asked for, once.
    pub fn take_switch(&self) -> Option<Switch> {
        lock(&self.switch).take()
    }

    /// The mode that it would have after a change.
    pub fn mode_after(&self, switch: Switch, settings: &Settings) -> Mode {
        let mut wanted = self.own();
        wanted.switch(switch);
        self.modes(&wanted, self.is_danger(), settings).0
    }

    /// Its mode.
    pub fn mode(&self, settings: &Settings) -> Mode {
        self.modes(&self.own(), self.is_danger(), settings).0
    }

    /// What its calls are judged by.
    pub fn policy(&self, settings: &Settings, folders: &[PathBuf]) -> Policy {
        let home = home();
        self.judged_by(self.is_danger(), Around { settings, folders, home: home.as_deref(), saves: false })
    }

    fn judged_by(&self, danger: bool, around: Around<'_>) -> Policy {
        let (mode, ceiling) = self.modes(&self.own(), danger, around.settings);
        let within = self.above.as_ref().map(|above| {
            let sober = above.judged_by(false, around);
            // What asks there as it is asks here too, though danger mode itself does not pass.
            let as_it_is = above.is_danger().then(|| Box::new(above.judged_by(true, around)));
            Box::new(Policy { within: as_it_is.or_else(|| sober.within.clone()), ..sober })
        });
        Policy { mode, ceiling, within, ..self.wanted().policy(false, around) }
    }

    /// What holds for it, and what it asked for in vain. `saves`: the editor saves documents when it is asked to.
    pub fn effective(&self, settings: &Settings, folders: &[PathBuf], saves: bool) -> Effective {
        let home = home();
        let around = Around { settings, folders, home: home.as_deref(), saves };
        let restored = lock(&self.parts).restored;
        let (own, wanted) = (self.own(), self.wanted());
        if self.above.is_none() {
            return Effective { restored, ..wanted.effective(&self.id, self.is_danger(), around) };
        }
        let (mode, _) = self.modes(&own, false, settings);
        let mut refused = kin::not_granted(&own.asked, &wanted.asked, mode);
        let effective = wanted.effective(&self.id, false, around);
        let said = |field: &str| refused.iter().any(|refused| refused.field == field);
        let others: Vec<_> =
            effective.not_granted.into_iter().filter(|other| other.field != "mode" && !said(&other.field)).collect();
        refused.extend(others);
        Effective { restored, mode, not_granted: refused, ..effective }
    }
}

fn home() -> Option<PathBuf> {
    env("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}
