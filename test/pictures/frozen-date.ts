/** Preloaded into the console's process: the time there is that of the fleet in the pictures, whenever they are taken. */
const at = Number(process.env.FLOTILLA_PICTURES_NOW);
const Real = Date;
class Frozen extends Real {
  constructor(...given: readonly unknown[]) {
    // @ts-expect-error -- a Date takes what it is given; with nothing it is the frozen time.
    super(...(given.length === 0 ? [at] : given));
  }
  static override now(): number {
    return at;
  }
}
Object.assign(globalThis, { Date: Frozen });
