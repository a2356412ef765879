/** The client's requests, again and again. */
export class Cycle<M> {
  private at = 0;

  constructor(private readonly requests: readonly M[]) {}

  next(): M {
    const request = this.requests[this.at] as M;
    this.at = (this.at + 1) % this.requests.length;
    return request;
  }
}
