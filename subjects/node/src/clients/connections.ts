/** HTTP/1.1 connections that are opened in advance, so that no recorded call opens one. */

import { connect, type Socket } from "node:net";

import type { ClientSettings } from "../contract.js";

export const UNIX = "unix:";

/** The server's authority in URLs; for a Unix socket, a placeholder. */
export function authorityOf(address: string): string {
  return address.startsWith(UNIX) ? "localhost" : address;
}

/** The options with which node:net connects. */
export function endpointOf(address: string): { path: string } | { host: string; port: number } {
  if (address.startsWith(UNIX)) return { path: address.slice(UNIX.length) };
  const colon = address.lastIndexOf(":");
  const host = address.slice(0, colon).replace(/^\[|\]$/g, "");
  return { host, port: Number(address.slice(colon + 1)) };
}

export class Connections {
  private readonly open = new Set<Socket>();
  private spare: Socket[] = [];

  constructor(private readonly settings: ClientSettings) {}

  /** Opens a connection for each call in flight, and returns how many were missing. */
  async fill(): Promise<number> {
    const missing = this.settings.in_flight - this.open.size;
    const opened = Array.from({ length: Math.max(missing, 0) }, () => this.connected());
    this.spare.push(...(await Promise.all(opened)));
    return opened.length;
  }

  private connected(): Promise<Socket> {
    return new Promise((done, fail) => {
      const socket = this.start();
      socket.once("connect", () => done(socket)).once("error", fail);
    });
  }

  /** Returns an open connection, or a new one. */
  take(): Socket {
    return this.spare.pop() ?? this.start();
  }

  private start(): Socket {
    const socket = connect({ ...endpointOf(this.settings.address), noDelay: true });
    this.open.add(socket);
    // The user of the socket receives the error too.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.open.delete(socket);
      this.spare = this.spare.filter((other) => other !== socket);
    });
    return socket;
  }
}
