import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

/** A package in package-lock.json. */
interface Locked {
  dependencies?: Record<string, string>;
}

const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  packages: Record<string, Locked>;
};

/** Returns the folder in which a package finds another one: within its own folder, or within a parent folder. */
function find(from: string, name: string): string {
  const path = `${from}${from && "/"}node_modules/${name}`;
  if (path in packages) return path;
  assert.notEqual(from, "", `${name} is in package-lock.json`);
  return find(from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))), name);
}

/** Returns the folders in node_modules of the given packages and of all their dependencies. */
function folders(roots: string[]): string[] {
  const found = new Set<string>();
  const add = (path: string) => {
    if (found.has(path)) return;
    found.add(path);
    for (const name of Object.keys(packages[path]?.dependencies ?? {})) add(find(path, name));
  };
  for (const name of roots) add(find("", name));
  const outermost = [...found].map((path) => path.split("/node_modules/")[0] ?? path);
  return [...new Set(outermost)].sort();
}

const ROOTS: Record<string, string[]> = {
  http: [],
  fastify: ["fastify", "@fastify/compress"],
  fetch: ["undici"],
  "grpc-js": ["@grpc/grpc-js", "@bufbuild/protobuf"],
  "connect-node": ["@connectrpc/connect", "@connectrpc/connect-node", "@bufbuild/protobuf"],
};

test("disk names the packages of all dependencies", () => {
  const stacks = readFileSync("subject.toml", "utf8").split("[[stacks]]").slice(1);
  const declared = stacks.flatMap((stack) => {
    const name = /^name = "(.*)"$/m.exec(stack)?.[1] ?? "";
    const disk = /^disk = \[([^\]]*)\]$/m.exec(stack)?.[1];
    const paths = [...(disk ?? "").matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? "");
    return disk === undefined ? [] : [[name, paths] as const];
  });
  assert.deepEqual(declared.map(([name]) => name).sort(), Object.keys(ROOTS).sort());
  for (const [name, [target, messages, ...paths]] of declared) {
    assert.deepEqual([target, messages], ["target", "{messages}"], name);
    const isNamed = (folder: string) => paths.some((path) => `${folder}/`.startsWith(`${path}/`));
    const needed = folders(ROOTS[name] ?? []);
    assert.deepEqual(needed.filter((folder) => !isNamed(folder)), [], name);
    const isNeeded = (path: string) => needed.some((folder) => `${folder}/`.startsWith(`${path}/`));
    assert.deepEqual(paths.filter((path) => !isNeeded(path)), [], name);
  }
});
