/** Makes JavaScript of generated TypeScript. */

import ts from "typescript";

interface File {
  name: string;
  content: string;
}

/** Each file without its types. They are not checked: that takes seconds and changes no code. */
export function transpile(files: File[]): File[] {
  const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 };
  return files.map(({ name, content }) => ({
    name: name.replace(/\.ts$/, ".js"),
    content: ts.transpileModule(content, { fileName: name, compilerOptions }).outputText,
  }));
}
