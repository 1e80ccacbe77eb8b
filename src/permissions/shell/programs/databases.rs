//! Databases: their clients, and what the statements given to them destroy.

use super::super::effects::{Verdict, Word};
use super::options::{Parsed, known};
use super::rows::{Operands, Row, Verbs, asks, custom, destroys, looks};
use super::sheet::Sheet;

mod sql;

const CLIENT: &str = "sends statements to a database";

/// The programs.
pub(super) const ROWS: &[Row] = &[
    asks("psql, pgcli", CLIENT)
        .net()
        .options(
            "* -c: --command: -f:< --file:< -h:@ --host:@ -U: --username: -d: --dbname: -p: --port: -v: --set: \
            --variable: -o:> --output:> -L:> --log-file:> -P: --pset: -F: -R:",
        )
        .then(client),
    asks("mysql, mariadb, mycli", CLIENT)
        .net()
        .options(
            "* -e: --execute: --init-command: -h:@ --host:@ -u: --user: -D: --database: -P: --port: --tee:> \
            --pager:! --defaults-file:< --defaults-extra-file:< -p? --password?",
        )
        .then(client),
    asks("sqlite3, sqlite, litecli, duckdb", CLIENT)
        .options("* -cmd: -init:< -separator: -newline: -nullvalue: -c: -f:< -s:")
        .then(sqlite),
    asks(
        "sqlcmd, bcp, sqlplus, isql, usql, cqlsh, clickhouse-client, clickhouse, snowsql, presto, trino, \
        impala-shell, beeline, hive, cockroach, tsql, db2, vsql, bq, spanner-cli, osql",
        CLIENT,
    )
    .net()
    .options("* -Q: -q: -e: -f:< --query: --execute: --command: -c: -S:@ -H:@ --host:@ -h:@")
    .then(client),
    asks("mongosh, mongo", CLIENT).net().options("* --eval: -f:< --file:< --host:@ -u: -p: --port:").then(mongo),
    custom("redis-cli, valkey-cli, keydb-cli", redis),
    asks("pg_dump, pg_dumpall, mysqldump, mariadb-dump, mongodump, mongoexport", "copies a database's content")
        .net()
        .options("* -f:> --file:> -h:@ --host:@ -o:> --out:> --result-file:> -r:>"),
    asks("pg_restore, mongorestore, mongoimport, mysqlimport, pg_basebackup, pgloader", "puts data into a database")
        .net()
        .options("* -h:@ --host:@ -d: --dbname: -f:>")
        .dangers(&[("-c --clean --drop --delete", Verdict::Destructive, "drops what is in the database")]),
    destroys(
        "dropdb, dropuser, mysqladmin, pg_ctl, pg_resetwal, initdb, pg_upgrade, createuser, vacuumdb, reindexdb",
        "drops, stops or changes databases",
    )
    .net(),
    asks("createdb", "makes a database").net(),
    looks("pg_isready, pg_config", "* -h:@ --host:@ -p: -U: -d: -t:", Operands::Text).net(),
    custom("memcached-tool, memcflush, memcrm", |sheet| sheet.destroys("drops what is cached")),
    asks("influx, cypher-shell, arangosh, couchdb, neo4j-admin, elasticdump, curator", CLIENT).net().then(client),
    asks(
        "prisma, sequelize, knex, flyway, liquibase, alembic, goose, migrate, dbmate, sqlx, diesel, atlas, typeorm, \
        drizzle-kit, hasura, supabase",
        "changes a database by the repository's files",
    )
    .net()
    .then(migrations),
];

/// etcdctl.
pub(super) const ETCD: Verbs = Verbs {
    names: "etcdctl, consul, nomad, zkCli.sh, kafka-topics, kafka-topics.sh, rabbitmqctl, rabbitmqadmin, nats",
    before: looks(
        "etcdctl",
        "--endpoints: --cacert: --cert: --key: -w: --write-out: --server: -h --help --version",
        Operands::Text,
    )
    .net(),
    common: "",
    rows: &[&[
        looks(
            "get, member list, endpoint health, endpoint status, kv get, members, list, list_queues, list_users, \
            list_vhosts, status, cluster_status, ls, info, version",
            "--prefix --keys-only --print-value-only \
            --limit: -recurse -keys --from-key -w: --write-out: --cluster",
            Operands::Text,
        )
        .net(),
        destroys(
            "del, delete, delete_queue, delete_user, delete_vhost, purge_queue, reset, force_reset, stop_app, \
            kv delete, job stop, leave, force-leave, rm, rmr, deleteall, member remove, defrag, compaction, lease \
            revoke, stop, purge",
            "deletes what others depend on",
        )
        .net(),
    ]],
    else_: asks("", "changes what others may depend on").net(),
};

fn client(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    for text in parsed.values("-c --command -e --execute --init-command -Q -q --query -v") {
        statements(text, sheet);
    }
    parsed.operands.iter().for_each(|word| statements(word, sheet));
    sheet.obeys_input();
}

fn statements(word: &Word, sheet: &mut Sheet<'_>) {
    let Some(text) = known(word) else { return };
    for loss in sql::losses(text) {
        sheet.destroys(&format!("is given `{}`, which {}", loss.statement, loss.why));
    }
    for line in text.lines() {
        let command = line.trim_start().strip_prefix("\\!").or(line.trim_start().strip_prefix("system "));
        if let Some(command) = command.map(str::trim).filter(|command| !command.is_empty()) {
            sheet.asks(&format!("runs `{command}` from its statements"));
            sheet.runs_line(&Word::Known(command.to_owned()), false);
        }
    }
}

fn sqlite(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    if let Some(file) = parsed.operands.first() {
        sheet.writes(file);
    }
    for word in parsed.values("-cmd -c").chain(parsed.operands.iter().skip(1).copied()) {
        statements(word, sheet);
        let Some(text) = known(word) else { continue };
        for line in text.lines() {
            let line = line.trim_start();
            if let Some(command) = line.strip_prefix(".shell ").or(line.strip_prefix(".system ")) {
                sheet.asks(&format!("runs `{command}` from its statements"));
                sheet.runs_line(&Word::Known(command.to_owned()), false);
            }
        }
    }
    sheet.obeys_input();
}

fn mongo(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    for script in parsed.values("--eval").chain(parsed.operands.iter().copied()) {
        let Some(text) = known(script) else { continue };
        let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let drops = [
            "dropDatabase",
            ".drop(",
            "deleteMany",
            "deleteOne",
            ".remove(",
            "dropIndex",
            "dropUser",
            "shutdownServer",
            "findOneAndDelete",
            "dropCollection",
            "[\"drop",
            "['drop",
            "dropRole",
        ];
        if let Some(what) = drops.iter().find(|what| squeezed.contains(**what)) {
            sheet.destroys(&format!("deletes from the database (`{}`)", what.trim_matches(['.', '(', '[', '"', '\''])));
        }
    }
    sheet.obeys_input();
}

/// Commands of Redis that only look.
const REDIS_LOOKS: &[&str] = &[
    "get",
    "mget",
    "keys",
    "scan",
    "ttl",
    "pttl",
    "type",
    "exists",
    "info",
    "ping",
    "dbsize",
    "llen",
    "lrange",
    "lindex",
    "hget",
    "hgetall",
    "hkeys",
    "hvals",
    "hlen",
    "hmget",
    "hexists",
    "hscan",
    "smembers",
    "scard",
    "sismember",
    "sscan",
    "zrange",
    "zcard",
    "zscore",
    "zrank",
    "zscan",
    "zcount",
    "strlen",
    "getrange",
    "time",
    "lastsave",
    "memory",
    "xlen",
    "xrange",
    "xinfo",
    "echo",
    "bitcount",
    "role",
];
const REDIS_LOSES: &[&str] = &[
    "flushall",
    "flushdb",
    "shutdown",
    "del",
    "unlink",
    "config",
    "debug",
    "swapdb",
    "script",
    "failover",
    "replicaof",
    "slaveof",
    "ltrim",
    "spop",
    "lpop",
    "rpop",
    "hdel",
    "srem",
    "zrem",
    "zremrangebyscore",
    "zremrangebyrank",
    "xtrim",
    "xdel",
    "expire",
    "rename",
    "restore",
    "migrate",
    "cluster",
    "acl",
    "module",
    "eval",
    "evalsha",
    "getdel",
];

fn redis(sheet: &mut Sheet<'_>) {
    use super::options::{Spec, read};
    sheet.network();
    let spec = Spec::of(&["+ * -h:@ -p: -s: -a: -u:@ -n: -r: -i: --user: --pass: --eval:< --pipe -x -X:"], &[]);
    let parsed = read(sheet.args(), &spec);
    super::rows::options(&parsed, sheet);
    let plain = parsed.operands.iter().all(|word| known(word).is_some()) && parsed.vague.is_none();
    let verb = parsed.operands.first().and_then(|word| known(word)).map(str::to_lowercase);
    let fed = ["--pipe", "-x", "-X", "--eval"].iter().any(|flag| parsed.has(flag));
    match verb.as_deref() {
        Some(verb) if REDIS_LOSES.contains(&verb) => {
            let reads = verb == "config"
                && parsed
                    .operands
                    .get(1)
                    .and_then(|word| known(word))
                    .is_some_and(|word| word.eq_ignore_ascii_case("get"));
            if reads {
                return;
            }
            sheet.destroys(&format!(
                "is given `{}`, which deletes or changes what others depend on",
                verb.to_uppercase()
            ));
        }
        Some(verb) if REDIS_LOOKS.contains(&verb) && plain && !fed => {}
        _ => {
            sheet.asks("sends commands to a database");
            sheet.obeys_input();
        }
    }
}

fn migrations(parsed: &Parsed<'_>, sheet: &mut Sheet<'_>) {
    let words: Vec<&str> = parsed.known().collect();
    let drops = [
        "reset",
        "drop",
        "down",
        "undo",
        "rollback",
        "redo",
        "clean",
        "purge",
        "downgrade",
        "revert",
        "force-reset",
        "drop-all",
    ];
    if words.iter().any(|word| drops.iter().any(|verb| word == verb || word.ends_with(&format!(":{verb}")))) {
        sheet.destroys("drops what is in the database");
    }
}
