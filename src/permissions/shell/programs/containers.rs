//! Containers: docker, podman, compose.

use super::super::effects::{Verdict, Word};
use super::options::{Danger, Parsed, known, shown};
use super::rows::{Operands, Row, Verbs, asks, destroys, looks};
use super::sheet::Sheet;

const DELETES: &str = "deletes containers, images, volumes or networks";
const STOPS: &str = "stops containers that others may depend on";
const BUILDS: &str = "runs what the repository's files say";
const SHARES: &str = "gives the container a part of the machine";

const MACHINE: &[Danger] = &[
    (
        "--privileged? --cap-add: --device: --security-opt: --pid: --ipc: --uts: --userns: --cgroup-parent: \
        --device-cgroup-rule:",
        Verdict::Destructive,
        "lets the container do anything to the machine",
    ),
    ("--network: --net: -p: --publish: -P --publish-all", Verdict::NeedsApproval, SHARES),
    ("-v: --volume: --mount: --volumes-from: --tmpfs:", Verdict::NeedsApproval, SHARES),
];

const RUNNING: &str = "+ -a: -e: -h: -i -l: -m: -t -u: -w: -c: -d -q --add-host: --attach: --cpus: --cpu-shares: \
    --cidfile:> --dns: --entrypoint: --env: --env-file:< --expose: --gpus: --health-cmd: --hostname: --init \
    --interactive --ip: --label: --link: --log-driver: --log-opt: --memory: --name: --platform: --pull: --read-only \
    --restart: --rm --runtime: --shm-size: --stop-signal: --stop-timeout: --tty --ulimit: --user: --workdir: \
    --detach --no-healthcheck --sysctl: --group-add: --network-alias: --isolation: --quiet --index: --detach-keys: \
    --service-ports --no-deps --build -T --use-aliases *";

const SHOWING: &str = "-a -f -n: -q -s -t -l -H --all --filter: --format: --last: --latest --no-trunc --quiet --size \
    --type: --follow --since: --until: --tail: --timestamps --details --digests --tree --human --no-stream \
    --services --status: --images --volumes --profiles --hash: --environment --variables --no-interpolate --no-color \
    --no-log-prefix --index: --orphans --dry-run --limit: --verbose --platform:";

/// docker and podman.
pub(super) const DOCKER: Verbs = Verbs {
    names: "docker, podman, nerdctl, docker-compose, podman-compose, finch",
    before: looks("docker", "-v -D -l: --debug --log-level: --version --help", Operands::Text).dangers(&[
        (
            "-H:@ --host:@ -c: --context: --url:@ --connection: --remote -r",
            Verdict::NeedsApproval,
            "works on another machine",
        ),
        (
            "--config: --tlscacert:< --tlscert:< --tlskey:< --tls --tlsverify",
            Verdict::NeedsApproval,
            "uses other settings",
        ),
        (
            "-f:< --file:< -p: --project-name: --project-directory: --env-file:< --profile: --ansi: \
            --compatibility",
            Verdict::ReadOnly,
            "",
        ),
    ]),
    common: "",
    rows: &[&[
        looks(
            "ps, images, logs, inspect, version, info, stats, top, port, history, diff, events, container ls, \
            container list, container ps, container logs, container inspect, container top, container stats, \
            container port, container diff, image ls, image list, image inspect, image history, volume ls, volume \
            list, volume inspect, network ls, network list, network inspect, system df, system info, system events, \
            context ls, context show, context inspect, buildx ls, buildx du, manifest inspect, node ls, node \
            inspect, node ps, service ls, service inspect, service ps, service logs, stack ls, stack ps, stack \
            services, config ls, config inspect, secret ls, swarm ca, plugin ls, plugin inspect, pod ps, pod \
            inspect, pod list, healthcheck, compose ps, compose logs, compose images, compose ls, compose top, \
            compose version, compose port, compose events, compose stats, compose volumes, trust inspect, wait, \
            help",
            SHOWING,
            Operands::Text,
        ),
        looks("search", SHOWING, Operands::Text).net(),
        looks("config, convert, compose config, compose convert", SHOWING, Operands::Text).dangers(&[(
            "-o:> --output:> --lock-image-digests",
            Verdict::NeedsApproval,
            "overwrites a file",
        )]),
        asks("run, create, container run, container create", "runs a program in a container")
            .options(RUNNING)
            .operands(Operands::Elsewhere(1))
            .dangers(MACHINE)
            .net()
            .then(shared),
        asks("exec, container exec", "runs a program in a container")
            .options(RUNNING)
            .operands(Operands::Elsewhere(1))
            .dangers(MACHINE),
        asks("compose run, compose exec", "runs a program in a container")
            .options(RUNNING)
            .operands(Operands::Elsewhere(1))
            .dangers(MACHINE)
            .net()
            .then(shared),
        asks(
            "build, image build, buildx, buildx build, buildx bake, compose build, compose up, compose create, \
            compose watch, up, builder build, stack deploy, kube play, play",
            BUILDS,
        )
        .options("* -f:< --file:< -t: --build-arg: --secret: -o:> --output:>")
        .net()
        .dangers(&[
            ("--allow:", Verdict::Destructive, "lets the build do more to the machine"),
            ("-V --renew-anon-volumes --remove-orphans", Verdict::Destructive, DELETES),
        ]),
        destroys(
            "rm, rmi, prune, container rm, container remove, container prune, image rm, image remove, image \
            prune, volume rm, volume remove, volume prune, network rm, network remove, network prune, system prune, \
            builder prune, buildx prune, buildx rm, system reset, context rm, manifest rm, stack rm, stack down, \
            service rm, secret rm, config rm, node rm, plugin rm, compose rm, pod rm, pod prune, machine rm, machine \
            reset, untag, unmount, swarm leave, kube down",
            DELETES,
        )
        .then(named),
        destroys(
            "stop, kill, restart, pause, container stop, container kill, container restart, container pause, \
            compose kill, compose stop, compose restart, compose pause, pod stop, pod kill, machine stop, update, \
            container update, service update, service scale, service rollback, node update, swarm init, swarm join, \
            swarm update, scale, compose scale",
            STOPS,
        )
        .then(named),
        asks("compose", "works with the containers of the project").options(
            "* -f:< --file:< -p: --project-name: \
            --project-directory: --env-file:< --profile: --ansi: --progress: --parallel:",
        ),
        asks("down, compose down", "stops and removes the containers of the project").dangers(&[
            ("-v --volumes", Verdict::Destructive, "deletes the volumes with all data in them"),
            ("--rmi:", Verdict::Destructive, "deletes the images"),
            ("--remove-orphans", Verdict::Destructive, "deletes containers of other projects"),
        ]),
        destroys(
            "push, image push, compose push, manifest push, compose publish, trust sign, trust revoke, plugin \
            push",
            "publishes an image that others get",
        )
        .net(),
        asks(
            "pull, image pull, compose pull, load, image load, import, image import, login, logout, plugin install, \
            compose cp",
            "fetches images, or says who you are",
        )
        .net()
        .options("* -i:< --input:<"),
        asks(
            "save, image save, export, container export, cp, container cp, commit, container commit, tag, image \
            tag, rename, start, container start, compose start, unpause, compose unpause, attach, volume create, \
            network create, network connect, network disconnect, context use, context create, secret create, config \
            create, service create, generate, machine, machine start, machine ssh, init, scout, sbom, desktop, \
            model, mcp, extension, ai, debug, trust, manifest create, manifest annotate, buildx create, buildx use",
            "changes containers or images, or writes files",
        )
        .options("* -o:> --output:>")
        .net(),
    ]],
    else_: asks("", "is no subcommand that is known; a plugin can run anything").net(),
};

/// What else works with containers.
pub(super) const ROWS: &[Row] = &[asks(
    "buildah, skopeo, kaniko, img, crane, oras, cosign, dive, trivy, grype, syft, hadolint, lazydocker, ctop, \
        act, earthly, dagger, devcontainer, lima, limactl, colima, orb, apptainer, \
        singularity, systemd-nspawn, runc, virsh, qemu-img, VBoxManage, vmrun, lxc, lxd, \
        incus",
    "works with containers or other machines",
)
.net()
.then(|parsed, sheet| {
    let verb = parsed.known().next().unwrap_or_default();
    if matches!(
        verb,
        "delete"
            | "rm"
            | "rmi"
            | "destroy"
            | "undefine"
            | "purge"
            | "stop"
            | "push"
            | "copy"
            | "unregistervm"
            | "sign"
            | "shutdown"
            | "reboot"
            | "snapshot-delete"
            | "vol-delete"
            | "pool-delete"
            | "net-destroy"
    ) {
        sheet.destroys(DELETES);
    }
})];

/// What of the machine a container gets.
fn shared(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    for volume in parsed.values("-v --volume") {
        let Some(text) = known(volume) else { continue };
        let mut parts = text.split(':');
        let (from, mode) = (parts.next().unwrap_or_default(), parts.nth(1).unwrap_or_default());
        bound(from, mode.split(',').any(|mode| mode == "ro"), sheet);
    }
    for mount in parsed.values("--mount") {
        let Some(text) = known(mount) else { continue };
        let value = |name: &str| text.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        let from = value("source").or_else(|| value("src")).unwrap_or_default();
        bound(from, text.split(',').any(|part| part.starts_with("readonly") || part == "ro"), sheet);
    }
    if parsed.values("--network --net").any(|mode| known(mode) == Some("host")) {
        sheet.destroys("lets the container use the machine's own network (`--network host`)");
    }
}

fn bound(from: &str, read_only: bool, sheet: &mut Sheet<'_>) {
    if from.ends_with("docker.sock") || from.ends_with("podman.sock") || from.ends_with("containerd.sock") {
        sheet.destroys("lets the container do anything to the machine (its socket is handed over)");
    } else if !read_only
        && matches!(from.trim_end_matches('/'), "" | "/etc" | "/usr" | "/var" | "/root" | "/home" | "/boot" | "/dev")
        && from.starts_with('/')
    {
        sheet.destroys(&format!("lets the container write to `{from}`"));
    } else if from.starts_with(['/', '.', '~']) {
        let word = Word::Known(from.to_owned());
        let scene = sheet.invocation.scene;
        let path = scene.workdir.join(from);
        let inside =
            !from.starts_with('~') && !from.contains("..") && scene.roots.iter().any(|root| path.starts_with(root));
        if read_only {
            sheet.reads(&word);
        } else if !inside {
            // What lies in the workspace is named by nothing: the container may change it, and need not.
            sheet.writes(&word);
        }
    }
}

fn named(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if parsed.vague.is_none() && !parsed.operands.is_empty() && parsed.operands.len() < 5 {
        let names: Vec<&str> = parsed.operands.iter().map(|word| shown(word)).collect();
        sheet.destroys(&format!("works on `{}`", names.join("`, `")));
    }
}
