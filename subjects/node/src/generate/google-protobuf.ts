/** google-protobuf's code: CommonJS, by a native program that no package of npm holds. */

import { clone, create } from "@bufbuild/protobuf";
import {
  type DescriptorProto, FieldDescriptorProto_Type as Type, FieldOptions_JSType, FieldOptionsSchema,
  type FileDescriptorProto, type FileDescriptorSet, FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";

import { installed, runPlugin } from "./plugin.js";
import type { GeneratedFile } from "./transpile.js";

const OPTIONS = "import_style=commonjs,binary";

const WIDE = [Type.INT64, Type.UINT64, Type.SINT64, Type.FIXED64, Type.SFIXED64];

export async function googleProtobuf(
  messages: string,
  descriptors: FileDescriptorSet,
  generate: string[],
): Promise<GeneratedFile[]> {
  const taken = generate.find((name) => name.startsWith("google/protobuf/"));
  if (taken !== undefined) throw new Error(`protoc-gen-js takes ${taken} for a file of its library, which lacks it`);
  const wide = clone(FileDescriptorSetSchema, descriptors);
  wide.file.forEach(writeWideAsStrings);
  try {
    const files = await runPlugin(installed("protoc-gen-js"), OPTIONS, wide, generate);
    return [...files, { name: "package.json", content: '{"type":"commonjs"}\n' }];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const install = "npm install --global protoc-gen-js@3.21.4";
    throw new Error(`there is no protoc-gen-js on the PATH; install it (${install}) and delete ${messages}`);
  }
}

/** Messages of any content: 64-bit integers as strings, since a number loses digits. */
function writeWideAsStrings(scope: DescriptorProto | FileDescriptorProto): void {
  const [fields, messages] =
    "field" in scope ? [scope.field, scope.nestedType] : [[], scope.messageType];
  for (const each of [...fields, ...scope.extension]) {
    if (!WIDE.includes(each.type)) continue;
    each.options ??= create(FieldOptionsSchema);
    each.options.jstype = FieldOptions_JSType.JS_STRING;
  }
  messages.forEach(writeWideAsStrings);
}
