/** Generates protobufjs' static module. */

import { createRequire } from "node:module";

import "protobufjs/ext/descriptor.js";
import protobuf from "protobufjs";

interface Pbjs {
  generate(
    root: protobuf.Root,
    options: Record<string, unknown>,
    done: (error: Error | null, output?: string) => void,
  ): void;
}

// The package's types do not include this function.
const pbjs = createRequire(import.meta.url)("protobufjs-cli/pbjs") as Pbjs;

const OPTIONS = { target: "static-module", wrap: "esm", comments: false, service: false };

/** Generates a module with all messages of the set. */
export function staticModule(descriptors: Uint8Array): Promise<string> {
  return new Promise((done, fail) => {
    const root = protobuf.Root.fromDescriptor(descriptors);
    root.resolveAll();
    pbjs.generate(root, OPTIONS, (error, output) => {
      if (output === undefined) fail(error ?? new Error("pbjs generated nothing"));
      else done(output);
    });
  });
}
