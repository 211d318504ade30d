/** Quotient rounded towards minus infinity, as calendars before 1970 need it; BigInt's own `/` rounds towards zero. */
export function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

/** What {@link floorDiv} leaves over: never negative for a positive divisor. */
export function floorMod(a: bigint, b: bigint): bigint {
  const rest = a % b;
  return rest !== 0n && rest < 0n !== b < 0n ? rest + b : rest;
}
