//! The command line: what was asked for, done by the room it belongs to, and the exit code.

mod cli;

use std::process::ExitCode;

use clap::Parser as _;

use cli::record::Record;
use cli::{Arguments, Command};
use ropewalk::process;

fn main() -> ExitCode {
    // Before any thread is there: a supervisor copies itself to start its program.
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if process::is_supervisor(&words) {
        return ExitCode::from(process::supervise());
    }
    let arguments = Arguments::parse();
    let _log = match cli::log_to(arguments.log.as_deref()) {
        Ok(guard) => guard,
        Err(error) => return cli::fail(2, &format!("cannot write the log: {error}")),
    };
    if let Some(program) = cli::own_program() {
        process::supervise_with(&program);
    }
    // At least four threads, so that a handler or two that block do not stop the rest on a small machine.
    let threads = std::thread::available_parallelism().map_or(4, |cores| cores.get().max(4));
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return cli::fail(1, &format!("cannot start: {error}")),
    };
    let command = arguments.command.unwrap_or_else(|| Command::Serve(Record::default()));
    let recorder = match cli::record::start(&arguments.common, &arguments.record, &command) {
        Ok(recorder) => recorder,
        Err(why) => return cli::fail(2, &why),
    };
    let code = runtime.block_on(async {
        match command {
            Command::Serve(_) => cli::serve(&arguments.common, recorder.as_ref()).await,
            Command::Try(show) => cli::show::run(&arguments.common, show, recorder.as_ref()).await,
            Command::Call(call) => cli::call::run(&arguments.common, call, recorder.as_ref()).await,
            Command::Run(words) => cli::run::run(&arguments.common, words).await,
            Command::Mcp(words) => cli::mcp::run(&arguments.common, words).await,
            Command::Replay(words) => cli::replay::run(words).await,
            Command::Tools(tools) => cli::tools(&arguments.common, &tools).await,
            Command::Schema => cli::schema(),
            Command::FakeEditor(words) => cli::fake_editor::run(&arguments.common, words).await,
            Command::FakeServer(words) => cli::fake_server::run(words).await,
            Command::Doctor(doctor) => cli::doctor::run(&arguments.common, &doctor).await,
        }
    });
    let code = cli::said(code);
    if let Some(recorder) = recorder
        && !recorder.finish(code)
    {
        cli::complain("the recording was not finished in time; it ends where it ends");
    }
    // Standard input may still be blocked in a read that nothing can end; the process does not wait for it.
    runtime.shutdown_background();
    ExitCode::from(code)
}
