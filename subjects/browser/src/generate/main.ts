/**
 * Generates the code for a set of messages: `node target/generate/main.js MESSAGES`, in the folder in which the subject
 * was built. MESSAGES contains `descriptors.binpb` and `files.json`. The generated code is written to
 *
 * - `es/`: protobuf-es
 * - `protobufjs/`: protobufjs' static module
 * - `page.js`: both, bundled with the code of the page
 */

import { resolve } from "node:path";

import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { build } from "esbuild";

import { esFiles, main, write } from "../../node/generate/messages.js";
import { staticModule } from "../../node/generate/protobufjs.js";
import { BUNDLE } from "../page/task.js";

/** The page with this code. */
function entry(es: string[]): string {
  const modules = es.map((name, index) => `import * as es${index} from "./es/${name}";\n`);
  return `import { start } from ${JSON.stringify(resolve("src/page/main.ts"))};
import protobufjs from "./protobufjs/messages.js";
${modules.join("")}
start([${es.map((_, index) => `es${index}`).join(", ")}], protobufjs);
`;
}

await main(async (set) => {
  const es = await esFiles(set);
  write(resolve(set.folder, "es"), es);
  const content = await staticModule(toBinary(FileDescriptorSetSchema, set.descriptors));
  write(resolve(set.folder, "protobufjs"), [{ name: "messages.js", content }]);
  const names = es.map(({ name }) => name).filter((name) => name.endsWith(".js"));
  await build({
    stdin: { contents: entry(names), resolveDir: set.folder },
    bundle: true,
    minify: true,
    target: "es2022",
    outfile: resolve(set.folder, BUNDLE),
    logLevel: "error",
  });
});
