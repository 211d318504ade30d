/** Why the query has no window that a plan could be cut by. */
export interface NoWindow {
  readonly reason: string;
  readonly location: number;
  /** The query names a window that cannot be: no eval interval makes it right. */
  readonly hopeless: boolean;
}

export function no(location: number, reason: string): NoWindow {
  return { reason, location, hopeless: false };
}

export const UNKNOWN_STAR = 'the star stands for columns that are not known here; list the columns';
