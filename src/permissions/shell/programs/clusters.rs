//! Clusters: kubectl, oc, helm and what goes with them.

use super::super::effects::Verdict;
use super::options::{Danger, Parsed, known, shown};
use super::rows::{Operands, Row, Verbs, asks, custom, destroys, looks};
use super::sheet::Sheet;

/// Flags that every kubectl command takes, anywhere.
const COMMON: &str = "-n: -s:@ -v: -h --help --namespace: --context: --cluster: --user: --server:@ \
    --request-timeout: --as: --as-group: --as-uid: --warnings-as-errors --match-server-version \
    --log-flush-frequency: --vmodule: --cache-dir: --disable-compression --insecure-skip-tls-verify? \
    --tls-server-name: --loglevel:";

/// Flags of the commands that look.
const LOOKING: &str = "-o: -l: -A -w -f:< -k:< -R -c: -p -L: -i -q --output: --selector: --all-namespaces --watch \
    --watch-only --filename:< --kustomize:< --recursive --container: --previous --label-columns: --show-labels \
    --show-kind --show-managed-fields? --no-headers --sort-by: --field-selector: --ignore-not-found? --chunk-size: \
    --raw: --template: --all-containers? --follow --since: --since-time: --tail: --timestamps? --prefix \
    --limit-bytes: --max-log-requests: --pod-running-timeout: --ignore-errors? --show-events? --api-group: \
    --namespaced? --verbs: --cached --categories: --api-version: --client? --short --containers --sum \
    --use-protocol-buffers? --minify --flatten --merge? --list --no-headers? --subresource: --types: --for: \
    --output-watch-events --to-revision: --revision: --timeout: --concurrency: --server-side? --field-manager: \
    --prune-allowlist: --show-server --images --image-stream --all";

const DANGERS: &[Danger] = &[
    ("--kubeconfig:<", Verdict::NeedsApproval, "takes a file that can name programs to run"),
    (
        "--token: --password: --username: --client-certificate:< --client-key:< --certificate-authority:<",
        Verdict::NeedsApproval,
        "gives who you are on the command line",
    ),
    ("--profile: --profile-output:>", Verdict::NeedsApproval, "writes a profile"),
];

const CHANGES: &str = "changes the cluster, on which others depend";
const DELETES: &str = "deletes from the cluster";
const RUNS: &str = "runs a command in the cluster";

/// kubectl and oc.
pub(super) const KUBECTL: Verbs = Verbs {
    names: "kubectl, oc, k, kubecolor",
    before: looks("kubectl", "", Operands::Text).dangers(DANGERS),
    common: COMMON,
    rows: &[&[
        looks(
            "get, describe, logs, top, explain, api-resources, api-versions, cluster-info, events, wait, diff, \
            status, projects",
            LOOKING,
            Operands::Text,
        )
        .net()
        .dangers(DANGERS)
        .then(read_only),
        looks(
            "version, options, help, config view, config current-context, config get-contexts, config \
            get-clusters, config get-users, plugin list, completion, \
            whoami",
            LOOKING,
            Operands::Text,
        )
        .dangers(DANGERS)
        .then(config_view),
        looks(
            "auth can-i, auth whoami, rollout status, rollout history, top node, top pod, top nodes, top pods, adm \
            top, adm top node, adm top pod, adm top nodes, adm top pods, adm top images, adm top imagestreams, \
            cluster-info dump, adm node-logs, policy can-i, policy who-can, adm policy who-can, adm release info, \
            image info",
            LOOKING,
            Operands::Text,
        )
        .net()
        .dangers(DANGERS)
        .then(dumped),
        destroys(
            "delete, drain, adm drain, adm prune, adm prune builds, adm prune images, adm prune deployments, \
            adm prune groups",
            DELETES,
        )
        .options("* -f:< --filename:< -k:<")
        .net()
        .dangers(DANGERS)
        .then(dry),
        destroys(
            "apply, create, replace, patch, scale, autoscale, cordon, uncordon, taint, label, annotate, edit, \
            set, set image, set env, set resources, set selector, set serviceaccount, set subject, expose, rollout, \
            rollout restart, rollout undo, rollout pause, rollout resume, certificate, certificate approve, \
            certificate deny, adm, adm cordon, adm uncordon, adm taint, adm policy, adm upgrade, adm groups, adm \
            manage-node, adm new-project, policy, tag, import-image, new-app, new-project, new-build, start-build, \
            cancel-build, rollback, secrets, secret, adm certificate, apply edit-last-applied, apply \
            set-last-applied, delete-project, image, serviceaccounts, create secret, create namespace, create \
            deployment, create job, create configmap, auth reconcile, idle, process-hooks",
            CHANGES,
        )
        .options("* -f:< --filename:< -k:< --from-file:")
        .net()
        .dangers(DANGERS)
        .then(dry),
        looks("apply view-last-applied, kustomize", LOOKING, Operands::Reads).dangers(DANGERS).then(|_, sheet| {
            if sheet.command.ends_with("kustomize") {
                sheet.asks("may run plugins and fetch files");
            }
        }),
        asks("exec, debug, run, attach, rsh", RUNS)
            .options(
                "* -c: --container: -f:< --filename:< --image: -l: \
            --env: --target: --copy-to: --overrides: --labels: --restart: --pod-running-timeout: \
            --as-user:",
            )
            .net()
            .dangers(DANGERS)
            .then(inside),
        asks("cp, rsync", "copies files between here and the cluster, over whatever is there")
            .net()
            .dangers(DANGERS)
            .then(copied),
        asks("port-forward, proxy", "opens a way into the cluster").net().dangers(DANGERS),
        asks(
            "login, logout, config, config use-context, config set-context, config set-cluster, config \
            set-credentials, config set, config unset, config delete-context, config delete-cluster, config \
            delete-user, config rename-context, project, registry, adm inspect, adm must-gather, adm config, \
            extract, observe, plugin",
            "changes who you are or which cluster is meant",
        )
        .net()
        .dangers(DANGERS),
    ]],
    else_: asks("", "is no subcommand that is known; a plugin can run anything").net(),
};

const HELM_COMMON: &str = "-n: --namespace: --kube-context: --debug --burst-limit: --qps: --kube-apiserver:@ -h \
    --help --kube-as-user: --kube-as-group:";
const HELM_DANGERS: &[Danger] = &[
    (
        "--kubeconfig:< --kube-token: --kube-ca-file:<",
        Verdict::NeedsApproval,
        "says who you are by a file that can name programs to run",
    ),
    ("--post-renderer:! --post-renderer-args:", Verdict::NeedsApproval, "runs a program on what it makes"),
    ("--registry-config:< --repository-config:< --repository-cache:", Verdict::NeedsApproval, "uses other settings"),
];

/// helm.
pub(super) const HELM: Verbs = Verbs {
    names: "helm, helm3, helmfile",
    before: looks("helm", "", Operands::Text).dangers(HELM_DANGERS),
    common: HELM_COMMON,
    rows: &[&[
        looks(
            "list, ls, status, history, get, get all, get values, get manifest, get notes, get hooks, get \
            metadata, search, search repo, search hub, show, show all, show chart, show values, show readme, show \
            crds, inspect, repo list, version, env, plugin list, dependency list, dep list, verify, help, \
            completion",
            "-a -A -q -o: -f: -m: -d -r -l --all --all-namespaces --short --output: --filter: --max: \
            --offset: --date --reverse --revision: --selector: --deployed --failed --pending --superseded \
            --uninstalled --uninstalling --show-resources --show-desc --version: --versions --regexp --devel --repo: \
            --jsonpath: --template: --max-col-width: --client --time-format: \
            --no-headers",
            Operands::Text,
        )
        .net()
        .dangers(HELM_DANGERS),
        destroys(
            "install, upgrade, uninstall, delete, del, un, rollback, test, push, sync, apply, destroy, charts",
            CHANGES,
        )
        .options("* -f:< --values:<")
        .net()
        .dangers(HELM_DANGERS)
        .then(helm_dry),
        asks("template, lint", "renders a chart, which may read files and run plugins")
            .options("* -f:< --values:<")
            .net()
            .dangers(HELM_DANGERS),
        asks(
            "repo, repo add, repo update, repo remove, repo index, pull, fetch, dependency, dependency update, \
            dependency build, dep, dep update, dep build, plugin, plugin install, plugin uninstall, plugin update, \
            registry, registry login, registry logout, create, package, diff",
            "fetches charts, or changes what helm knows",
        )
        .net()
        .dangers(HELM_DANGERS),
    ]],
    else_: asks("", "is no subcommand that is known; a plugin can run anything").net(),
};

/// What else steers clusters.
pub(super) const ROWS: &[Row] = &[
    asks(
        "kustomize, kompose, kubeval, kubeconform, kube-score, skaffold, tilt, ksonnet, jsonnet, ytt, kapp, stern, \
        kubetail, kail",
        "renders or follows a cluster by the repository's files",
    )
    .net()
    .then(|parsed, sheet| {
        if parsed.known().next().is_some_and(|verb| matches!(verb, "delete" | "deploy" | "run")) {
            sheet.destroys(CHANGES);
        }
    }),
    asks("k9s, lens, kubectx, kubens, kube-ps1, kubie", "wants a terminal, or changes which cluster is meant").net(),
    custom(
        "minikube, kind, k3d, k3s, kubeadm, microk8s, eksctl, kops, kubespray, argocd, flux, istioctl, linkerd, \
        cilium, calicoctl, velero, crictl, ctr, talosctl, rke, rancher, odo, crc, openshift-install, kubefed, \
        karmadactl, tkn, kn",
        |sheet| {
            super::cloud::worded(
                sheet,
                &["list", "get", "status", "version", "ls", "history", "diff", "logs", "describe"],
            );
            if sheet.verdict() > Verdict::ReadOnly {
                sheet.destroys(CHANGES);
            }
        },
    ),
];

fn read_only(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    // `get --raw` asks for any address of the server, of which some do things; they only answer to other methods.
    if parsed.has("-k --kustomize") {
        sheet.asks("renders files, which may run plugins and fetch files");
    }
    let secret = |text: &str| {
        text.split(',').any(|kind| {
            let kind = kind.split('/').next().unwrap_or(kind).to_lowercase();
            matches!(kind.split('.').next(), Some("secret" | "secrets"))
        })
    };
    let kinds: Vec<&str> = parsed.known().collect();
    if sheet.command.ends_with(" get") && kinds.iter().any(|text| secret(text)) {
        sheet.asks("shows secrets of the cluster");
    } else if let Some(path) = parsed.values("--raw").last()
        && known(path).is_none_or(|path| path.contains("secret"))
    {
        sheet.asks("may show secrets of the cluster");
    }
}

fn config_view(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if parsed.has("--raw") {
        sheet.asks("shows the keys to the clusters");
    }
    if parsed.foreign.iter().any(|flag| flag == "-t" || flag == "--show-token") {
        sheet.asks("shows the token");
    }
}

fn dumped(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if parsed.foreign.iter().any(|flag| flag == "--output-directory") {
        sheet.asks("writes many files");
    }
}

/// `--dry-run` is told; it is asked about, since `--dry-run=none` and the server's own hooks are close by.
fn dry(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if parsed.operands.iter().any(|word| known(word) == Some("--all"))
        || parsed.foreign.iter().any(|flag| flag == "--all")
    {
        sheet.destroys("works on everything of a kind");
    }
    let namespace = parsed
        .known()
        .next()
        .is_some_and(|kind| matches!(kind, "namespace" | "ns" | "namespaces" | "project" | "crd" | "pv" | "node"));
    if namespace && sheet.command.ends_with("delete") {
        sheet.destroys(&format!("deletes a whole {}", parsed.known().next().unwrap_or_default()));
    }
}

fn helm_dry(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if let Some(release) = parsed.operands.first()
        && matches!(sheet.command.rsplit(' ').next(), Some("uninstall" | "delete" | "del" | "un"))
    {
        sheet.destroys(&format!("removes the release `{}`", shown(release)));
    }
}

/// What runs in a container: what stands behind `--`, or behind the container's name.
fn inside(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let at = parsed.dashes.unwrap_or(1);
    sheet.runs_words(parsed.operands.get(at..).unwrap_or_default(), true);
}

fn copied(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let last = parsed.operands.len().saturating_sub(1);
    for (at, word) in parsed.operands.iter().enumerate() {
        let far = known(word).is_some_and(|text| text.contains(':'));
        match (far, at == last) {
            (true, _) => {}
            (false, true) => {
                for source in &parsed.operands[..last] {
                    sheet.puts(source, word);
                }
            }
            (false, false) => sheet.reads(word),
        }
    }
}
