//! Clouds, infrastructure as code, and forges.

use super::super::effects::{Verdict, Word};
use super::options::{Parsed, known, shown};
use super::rows::{Operands, Row, Verbs, asks, custom, destroys, looks};
use super::sheet::Sheet;

const CHANGES: &str = "changes infrastructure that others depend on";
const DELETES: &str = "deletes what others depend on";
const OTHERS: &str = "changes what others see and depend on";

/// terraform and opentofu.
pub(super) const TERRAFORM: Verbs = Verbs {
    names: "terraform, tofu, terragrunt",
    before: looks("terraform", "-chdir: -version -help --version --help", Operands::Text),
    common: "",
    rows: &[&[
        looks(
            "show, output, graph, state list, state show, workspace list, workspace show, providers, version, \
            metadata functions",
            "-json -no-color -raw -state:< -type: -draw-cycles -id: -plan:< -module-depth:",
            Operands::Text,
        )
        .net()
        .then(|_, sheet| {
            if sheet.command.ends_with("output") {
                sheet.asks("may show secrets of the infrastructure");
            } else if sheet.command.ends_with("show") && !sheet.command.ends_with("workspace show")
                || sheet.command.ends_with("graph")
            {
                sheet.asks("starts the providers that lie in its folder");
            }
        }),
        looks("fmt", "-check -diff -recursive -list? -no-color -write?", Operands::Text).then(|parsed, sheet| {
            let writes = parsed.find("-write").and_then(|given| given.value.as_ref()).and_then(known) != Some("false");
            if !parsed.has("-check") && writes {
                sheet.changes("reformats files");
            }
        }),
        asks(
            "init, validate, plan, test, console, get, login, logout, refresh, providers lock, providers mirror, \
            providers schema, workspace new, workspace select, run-all plan",
            "runs providers that the repository names",
        )
        .net()
        .options("* -out:> -var-file:< -state:< -backend-config:")
        .dangers(&[(
            "-migrate-state -force-copy -reconfigure",
            Verdict::Destructive,
            "moves or drops the state",
        )]),
        destroys(
            "apply, destroy, import, taint, untaint, state rm, state mv, state push, state replace-provider, \
            force-unlock, workspace delete, run-all apply, run-all destroy",
            CHANGES,
        )
        .net(),
        asks("state pull", "shows the whole state, with its secrets").net(),
    ]],
    else_: asks("", "is no subcommand that is known").net(),
};

/// gh.
pub(super) const GH: Verbs = Verbs {
    names: "gh, glab, hub, tea",
    before: looks("gh", "--version --help", Operands::Text),
    common: "-R: --repo:",
    rows: &[&[
        looks(
            "pr list, pr view, pr status, pr checks, pr diff, issue list, issue view, issue status, repo list, \
            repo view, run list, run view, run watch, release list, release view, workflow list, workflow view, \
            label list, gist list, gist view, search, search code, search repos, search issues, search prs, search \
            commits, org list, project list, project view, cache list, ruleset list, ruleset view, ruleset check, \
            extension list, alias list, config get, config list, auth status, status, secret list, variable list, \
            variable get, ssh-key list, gpg-key list, mr list, mr view, mr diff, ci status, ci list, ci view, \
            version, help, attestation verify, codespace list",
            "-a: -A: -B: -b: -c -d -e: -F: -f: -H: -j: -L: -l: -m: -q: -r -s: -S: -t: -u: -v -w -i: -y --assignee: \
                --author: --base: --branch: --comments --draft --event: --exit-status --head: --job: --jq: --json: \
                --label: --limit: --log --log-failed --mention: --milestone: --name-only --patch --required \
                --search: --sort: --order: --state: --status: --template: --user: --verbose --watch --interval: \
                --fail-fast --workflow: --created: --commit: --color: --language: --visibility: --owner: --archived? \
                --match: --topic: --env: --org: --attempt: --yaml --ref: --all --compact --help --app: --hostname: \
                --active",
            Operands::Text,
        )
        .net(),
        custom("api", api),
        destroys(
            "repo delete, repo archive, repo unarchive, repo rename, repo edit, repo sync, repo transfer, \
            release delete, release create, release edit, release upload, release delete-asset, pr merge, pr close, \
            mr merge, mr close, issue delete, issue close, issue transfer, issue lock, secret set, secret delete, \
            secret remove, variable set, variable delete, workflow run, workflow enable, workflow disable, run \
            cancel, run delete, run rerun, label delete, label edit, gist delete, cache delete, ssh-key add, ssh-key \
            delete, gpg-key add, gpg-key delete, codespace delete, project delete, project close, repo deploy-key \
            add, repo deploy-key delete, ruleset delete, pr lock, auth refresh, ci run, ci delete, ci retry, ci \
            trigger",
            OTHERS,
        )
        .net(),
        asks(
            "pr create, pr comment, pr review, pr edit, pr ready, pr reopen, pr checkout, issue create, issue \
            comment, issue edit, issue reopen, issue develop, repo clone, repo fork, repo create, repo set-default, \
            gist create, gist edit, gist clone, label create, label clone, run download, release download, auth \
            login, auth logout, auth setup-git, auth token, config set, alias set, alias import, extension install, \
            extension exec, extension upgrade, project create, project item-add, mr create, mr update, mr checkout, \
            codespace create, codespace ssh, browse, copilot",
            "talks to the forge in your name, or changes files",
        )
        .net(),
    ]],
    else_: asks("", "is no subcommand that is known; an extension can run anything").net(),
};

/// The programs.
pub(super) const ROWS: &[Row] = &[
    custom("aws, awslocal", aws),
    custom("gcloud, gsutil", |sheet| {
        worded(
            sheet,
            &[
                "list",
                "describe",
                "get-value",
                "info",
                "ls",
                "du",
                "stat",
                "hash",
                "version",
                "get-iam-policy",
                "list-tags",
            ],
        );
    }),
    custom("az", |sheet| worded(sheet, &["list", "show", "list-locations", "list-sizes", "list-usage", "version"])),
    custom(
        "doctl, hcloud, linode-cli, vultr-cli, ibmcloud, oci, scw, exo, openstack, nova, glance, civo, packet, \
        metal",
        |sheet| {
            worded(sheet, &["list", "show", "get", "ls", "describe", "version"]);
        },
    ),
    custom(
        "heroku, fly, flyctl, vercel, netlify, wrangler, railway, render, surge, firebase, amplify, sam, \
        serverless, sls, cdk, copilot, eb, now, cf, shopify, expo, eas, fastlane, gh-pages, mike, deploy, cap, \
        kamal, nixops, colmena, deploy-rs",
        |sheet| worded(sheet, &["version"]),
    ),
    destroys(
        "ansible-playbook, ansible, ansible-pull, ansible-console, salt, salt-call, salt-ssh, puppet, \
        chef-client, chef-solo, knife, cfengine, pyinfra, fab, mco, cdist, nixos-rebuild, darwin-rebuild, \
        home-manager, rpm-ostree, bootupctl, ostree, clush, pssh, pdsh",
        CHANGES,
    )
    .net()
    .then(|_, _| {}),
    looks("ansible-inventory, ansible-doc", "* -i:<", Operands::Text).then(|_, sheet| {
        sheet.asks("may run the inventory's scripts");
    }),
    asks(
        "ansible-lint, ansible-galaxy, ansible-vault, packer, cdktf, terraform-docs, tflint, tfsec, checkov, \
        infracost, terrascan",
        "runs what the repository's files say",
    )
    .net(),
    custom("pulumi, crossplane, cdk8s, bosh, juju", |sheet| {
        worded(sheet, &["status", "global-status", "whoami", "about", "history", "version"]);
        let first = sheet.args().iter().filter_map(known).find(|word| !word.starts_with('-'));
        if first.is_some_and(|verb| {
            matches!(verb, "up" | "update" | "refresh" | "import" | "state" | "cancel" | "halt" | "reload" | "deploy")
        }) {
            sheet.destroys(CHANGES);
        }
    }),
    asks(
        "gh-ost, jira, linear, slack, sentry-cli, datadog-ci, codecov, newman, postman, stripe, twilio, sendgrid, \
        infisical, chamber, gitleaks, trufflehog, git-secrets, pre-commit, lefthook, husky, commitizen, cz, \
        semantic-release, changeset, goreleaser, release-please, standard-version, release-it, np, cargo-release",
        "talks to others in your name, or runs the repository's hooks",
    )
    .net()
    .then(|parsed, sheet| {
        let program = sheet.invocation.program;
        if matches!(program, "semantic-release" | "goreleaser" | "release-it" | "np" | "cargo-release")
            || parsed.known().next().is_some_and(|verb| matches!(verb, "publish" | "release"))
        {
            sheet.destroys("publishes what others get");
        }
    }),
];

/// Verbs that delete or stop, as clouds write them.
fn deletes(word: &str) -> bool {
    const HEADS: &[&str] = &[
        "delete",
        "terminate",
        "remove",
        "deregister",
        "purge",
        "destroy",
        "detach",
        "revoke",
        "cancel",
        "reset",
        "stop",
        "reboot",
        "disable",
        "release",
        "drop",
        "wipe",
        "deallocate",
        "rollback",
        "disassociate",
        "abort",
        "reject",
        "empty",
    ];
    matches!(word, "rm" | "rb" | "rmi" | "del" | "prune" | "unpublish" | "down" | "nuke" | "kill" | "teardown")
        || HEADS
            .iter()
            .any(|head| word.strip_prefix(head).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':'])))
        || word.rsplit_once(':').is_some_and(|(_, verb)| deletes(verb))
}

fn aws(sheet: &mut Sheet<'_>) {
    use super::options::{Spec, read};
    sheet.network();
    let spec = Spec::of(
        &["* --region: --profile: --output: --query: --cli-read-timeout: --cli-connect-timeout: --color: \
            --ca-bundle:< --cli-binary-format:"],
        &[
            ("--endpoint-url:@", Verdict::NeedsApproval, "sends the request, with who you are, to another machine"),
            (
                "--no-verify-ssl --cli-input-json: --cli-input-yaml:",
                Verdict::NeedsApproval,
                "takes its request from elsewhere",
            ),
            ("--delete", Verdict::Destructive, DELETES),
            ("--with-decryption", Verdict::NeedsApproval, "shows secrets"),
        ],
    );
    let parsed = read(sheet.args(), &spec);
    super::rows::options(&parsed, sheet);
    super::rows::doubts(&parsed, &spec, sheet);
    let words: Vec<&Word> = parsed.operands.clone();
    let (Some(service), Some(operation)) =
        (words.first().and_then(|word| known(word)), words.get(1).and_then(|word| known(word)))
    else {
        if !words.is_empty() {
            sheet.asks("does what its words do not say");
        }
        return;
    };
    sheet.command = format!("{} {service} {operation}", sheet.command);
    let secret = ["secret", "password", "token", "credential", "parameter", "login", "authorization", "data-key"]
        .iter()
        .any(|part| operation.contains(part));
    let looks = matches!(
        (service, operation),
        ("s3" | "logs", "ls" | "tail") | ("sts", "get-caller-identity") | ("configure", "list" | "list-profiles")
    ) || ["describe-", "list-", "head-", "batch-get-"].iter().any(|head| operation.starts_with(head))
        || operation.starts_with("get-") && !secret && !(service == "s3api" && operation.starts_with("get-object"));
    if deletes(operation) {
        sheet.destroys(DELETES);
    } else if service == "s3" && operation == "mv" {
        sheet.destroys("moves objects; where they were nothing is kept");
    } else if !looks {
        sheet.asks("changes things in the cloud, or shows secrets");
    }
    // A word that is no option's value, behind the operation or at the end, may be a file to write.
    let option = |word: Option<&Word>| word.is_some_and(|word| shown(word).starts_with('-'));
    let args = sheet.args();
    let at = args.iter().position(|word| known(word) == Some(operation)).unwrap_or(0);
    let behind = args.get(at + 1).is_some() && !option(args.get(at + 1));
    let last = args.len() > at + 2 && !option(args.last()) && !option(args.get(args.len() - 2));
    if looks && operation.starts_with("get-") && (behind || last) {
        sheet.asks("may write a file");
    }
}

/// Programs of clouds whose words say what they do, wherever these stand.
pub(super) fn worded(sheet: &mut Sheet<'_>, reading: &[&str]) {
    sheet.network();
    let words: Vec<&str> = sheet.args().iter().filter_map(known).collect();
    let verbs: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    if let Some(verb) = verbs.iter().find(|verb| deletes(verb)) {
        sheet.destroys(&format!("deletes or stops what others depend on (`{verb}`)"));
        return;
    }
    let mirrors = words.contains(&"rsync") && words.iter().any(|word| *word == "-d" || word.contains("delete"));
    if mirrors {
        sheet.destroys(DELETES);
        return;
    }
    let secret = words.iter().any(|word| {
        ["secret", "token", "password", "credential", "print-access", "impersonate", "flags-file", "keys", "log-http"]
            .iter()
            .any(|part| word.contains(part))
    });
    // Only among the words in front of the first option: a thing may be named `list`.
    let reads = words.iter().take_while(|word| !word.starts_with('-')).take(5).any(|verb| reading.contains(verb));
    let changes = verbs.iter().any(|verb| {
        [
            "create", "update", "set", "add", "deploy", "apply", "run", "import", "enable", "start", "restart",
            "invoke", "execute", "ssh", "scp", "cp", "mv", "login", "config", "call", "patch", "write", "export",
            "rest", "attach", "assign", "resize", "promote", "submit", "copy", "move", "migrate", "simulate",
            "suspend", "resume", "recreate", "failover", "swap", "redeploy", "generate", "restore", "rotate", "renew",
            "approve", "clear", "flush", "perform", "grant", "rename", "replace", "register", "upgrade", "merge",
            "init",
        ]
        .iter()
        .any(|head| verb.strip_prefix(head).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':'])))
    });
    if !reads || secret || changes || words.len() != sheet.args().len() {
        sheet.asks("changes things in the cloud, or nobody can tell");
    }
}

/// `gh api`: a request of any kind to the forge.
fn api(sheet: &mut Sheet<'_>) {
    use super::options::{Spec, read};
    let spec = Spec::of(
        &["-H: -q: -t: -i -p: --header: --jq: --template: --include --paginate --slurp --preview: --cache: --silent \
            --verbose --hostname:@ -X: --method: -f: -F: --raw-field: --field: --input:< api"],
        &[],
    );
    // What stands before `api` was judged already.
    let args = sheet.args();
    let from = args.iter().position(|word| known(word) == Some("api")).map_or(0, |at| at + 1);
    let parsed = read(&args[from..], &spec);
    super::rows::options(&parsed, sheet);
    super::rows::doubts(&parsed, &spec, sheet);
    sheet.network();
    let method = parsed.values("-X --method").last();
    let sends = parsed.has("-f -F --raw-field --field --input");
    let graphql = parsed.known().any(|path| path.trim_matches('/') == "graphql");
    match method.map(|word| (known(word).map(str::to_uppercase), shown(word))) {
        Some((Some(method), _)) if method == "DELETE" => sheet.destroys("deletes at the forge (`DELETE`)"),
        Some((Some(method), _)) if method == "GET" => {}
        Some((_, shown)) => sheet.destroys(&format!("changes things at the forge (`{shown}`)")),
        None if sends && !graphql => sheet.destroys("changes things at the forge (`POST`)"),
        None if sends => mutation(&parsed, sheet),
        None => {}
    }
}

fn mutation(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let mutates = parsed
        .values("-f -F --raw-field --field")
        .any(|word| known(word).is_none_or(|text| text.contains("mutation") || text.contains("=@")));
    if mutates || parsed.has("--input") {
        sheet.destroys("changes things at the forge (`mutation`)");
    }
}
