/** Code that all servers share. */

import { rmSync } from "node:fs";
import type { AddressInfo, Server as NetServer } from "node:net";

import type { Listen } from "../contract.js";
import type { ReadyPart } from "../conversation.js";
import { oneLine, Refused } from "../refused.js";

/** A server that responds to calls. */
export interface Server extends ReadyPart {
  close(): void;
}

export function cannotListen(listen: Listen, error: unknown): Refused {
  const where = listen.transport === "unix" ? listen.path : listen.host;
  return new Refused(`cannot listen on ${where}: ${oneLine(error)}; choose another`, "machine");
}

/** Starts listening, and returns the address in the contract's format. */
export async function listenOn(server: NetServer, listen: Listen): Promise<string> {
  try {
    await new Promise<void>((done, fail) => {
      server.once("error", fail);
      if (listen.transport === "unix") server.listen(listen.path, done);
      else server.listen(0, listen.host, done);
    });
  } catch (error) {
    throw cannotListen(listen, error);
  }
  return addressOf(listen, (server.address() as AddressInfo).port);
}

export function addressOf(listen: Listen, port: number): string {
  return listen.transport === "unix" ? `unix:${listen.path}` : `${hostOf(listen)}:${port}`;
}

/** The host in the format used in addresses. */
export function hostOf({ host }: Listen): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Removes the socket file, if there is one. The connections end with the process. */
export function removeSocket(listen: Listen): void {
  if (listen.transport === "unix") rmSync(listen.path, { force: true });
}
