/** An error that states why a request cannot be fulfilled, and the side at fault. */

export type Fault = "user" | "instrument" | "subject" | "machine";

export const EXIT_CODES: Record<Fault, number> = { subject: 1, user: 2, instrument: 2, machine: 3 };

export class Refused extends Error {
  constructor(
    message: string,
    readonly fault: Fault,
  ) {
    super(message);
  }
}

/** Determines the side at fault for an error. An unexpected error is the subject's fault, and is logged. */
export function blamed(error: unknown): Refused {
  if (error instanceof Refused) return error;
  if (error instanceof Error && "syscall" in error) return new Refused(error.message, "machine");
  console.error(error);
  return new Refused(String(error), "subject");
}

export function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return message.split(/\s+/).join(" ").trim();
}
