//! Checks of the embedded check.

use super::*;
#[test]
fn explore() {
    for (l, t) in [
        (Language::Rust, "fn f() { let x = ; }\n"),
        (Language::Rust, "fn f() { let x = foo(1; }\n"),
        (Language::Rust, "fn f() {\n    let x = 1;\n\nfn g() {}\n"),
        (Language::Rust, "fn f() { } }\nfn g() {}\n"),
        (Language::Rust, "fn f( { }\n"),
        (Language::Rust, "fn f() { x.; }\n"),
        (Language::Rust, "struct A { a: u32 b: u32 }\n"),
        (Language::Rust, "fn f() { \"abc }\n"),
        (Language::Python, "def f(:\n    pass\n"),
        (Language::Python, "x = (1,\ny = 2\n"),
        (Language::Python, "if x\n    y\n"),
        (Language::Python, "x = = 1\n"),
        (Language::Python, "for x in :\n  pass\n"),
        (Language::Python, "x = f'abc\ny = 2\n"),
        (Language::Python, "def f():\n    x = [1, 2\n    return x\n\ndef g():\n    pass\n"),
        (Language::JavaScript, "function f() {\n return 1;\n"),
        (Language::JavaScript, "const a = {b: 1 c: 2};\n"),
        (Language::JavaScript, "const e = <div><p></div>;\n"),
        (Language::TypeScript, "let x: = 1;\n"),
        (Language::TypeScript, "interface A { a: string b: number }\n"),
        (Language::Tsx, "const e = <div>{x</div>;\n"),
        (Language::Go, "package a\nfunc f() {\n\tx := \n}\n"),
        (Language::Go, "package a\nfunc f() {\n\tif x {\n\t\ty()\n}\n"),
        (Language::C, "int main( { return 0; }\n"),
        (Language::C, "int main() {\n if (x) {\n return 0; }\n"),
        (Language::Cpp, "class A { int x }\nint y;\n"),
        (Language::Json, "{\"a\": 1,}\n"),
        (Language::Json, "{\"a\": 1 \"b\": 2}\n"),
        (Language::Json, "{\"a\": [1, 2}\n"),
        (Language::Json, "{\"a\": }\n"),
        (Language::Json, "{\n\"a\": 1\n"),
        (Language::Json, "// c\n{\"a\": 1 /* x */}\n"),
        (Language::Json, "[1, 2,\n]\n"),
        (Language::Json, "{a: 1}"),
        (Language::Json, "{\"a\": 'x'}"),
        (Language::Bash, "if true; then\n  echo a\n"),
        (Language::Bash, "echo \"abc\n"),
        (Language::Bash, "for x in a b; do\n echo $x\n"),
        (Language::Bash, "echo $(ls\n"),
        (Language::Bash, "case x in a) b;;\n"),
        (Language::Toml, "a = \nb = 1\n"),
        (Language::Toml, "[a\nb = 1\n"),
        (Language::Toml, "a = [1, 2\nb = 3\n"),
        (Language::Toml, "a = \"x\nb = 1\n"),
        (Language::Toml, "a b = 1\n"),
        (Language::JsonWithComments, "{\"a\": 1, // x\n}\n"),
    ] {
        println!("{l:?} {t:?}");
        match check(Some(l), None, &[], t) {
            Check::Faults(f) => {
                for f in f.new {
                    println!("    {:?} {:?} {}", f.bytes, f.kind, f.message)
                }
            }
            other => println!("{other:?}"),
        }
    }
}
