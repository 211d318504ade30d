export interface Addresses {
  readonly api: string;
  /** With the password: this is the user's own terminal. */
  readonly database: string;
  readonly tickSeconds: number;
}

/** What to type in a second terminal to see a sink follow its source. */
export function demonstrationGuidance({ api, database, tickSeconds }: Addresses): string {
  return `Try it from a second terminal. Any PostgreSQL client will do; psql is one:

  # a flight that is not in the data yet, a day late
  psql '${database}' -c "INSERT INTO flights VALUES ('2001-06-30 12:34', 1440, 999, 'SFO', 'JFK')"

  # say which time changed: the flows over the table are brought up to date within one tick (${seconds(tickSeconds)})
  curl -s '${api}/tables/flights/dirty-windows' -H 'content-type: application/json' -d '{"timestamps": ["2001-06-30T12:34:00Z"]}'

  # its delay is the worst of that hour now
  psql '${database}' -c "SELECT * FROM hourly_departures WHERE hour = '2001-06-30 12:00' AND origin = 'SFO'"

  # or bring everything up to date, wherever rows changed
  curl -s -X POST '${api}/flows/daily_routes/flush'

  # what a flow is doing, and what it did
  curl -s '${api}/flows/hourly_departures/state'
  curl -s '${api}/flows/hourly_departures/runs'

${addresses(api, database)}`;
}

/** For a start without demonstration. */
export function emptyGuidance({ api, database, tickSeconds }: Addresses): string {
  return `Create a table with any PostgreSQL client, then a flow over it; it is ticked every ${seconds(tickSeconds)}:

  psql '${database}' -c "CREATE TABLE events (at timestamptz NOT NULL)"

  curl -s '${api}/sql' -H 'content-type: application/json' -d @- <<'END'
  {"sql": "CREATE FLOW per_hour SINK TO per_hour AS SELECT date_trunc('hour', at) AS hour, count(*) AS n FROM events GROUP BY 1"}
END

${addresses(api, database)}`;
}

function addresses(api: string, database: string): string {
  return `API         ${api}  (described at ${api}/openapi.json)
PostgreSQL  ${database}

Ctrl-C stops both.`;
}

function seconds(count: number): string {
  return count === 1 ? 'second' : `${count} seconds`;
}
