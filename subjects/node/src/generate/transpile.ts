/** Converts generated TypeScript to JavaScript. */

import ts from "typescript";

import type { GeneratedFile } from "./messages.js";

/** Removes the types from each file. They are not checked, because that takes seconds and does not change the code. */
export function transpile(files: GeneratedFile[]): GeneratedFile[] {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 };
  return files.map(({ name, content }) => {
    const options = { fileName: name, compilerOptions, reportDiagnostics: true };
    const { outputText, diagnostics } = ts.transpileModule(content, options);
    const [wrong] = diagnostics ?? [];
    if (wrong !== undefined) {
      const why = ts.flattenDiagnosticMessageText(wrong.messageText, " ");
      const before = content.slice(0, wrong.start).split("\n");
      throw new Error(`${name}:${before.length}: the generated code is wrong: ${why}`);
    }
    return { name: name.replace(/\.ts$/, ".js"), content: outputText };
  });
}
