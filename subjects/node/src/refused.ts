/** What was asked cannot be done: why, and who can do something about it. */

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

/** Whose fault an error is. One that was not expected is the subject's, and the log has it. */
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
