package sqlite

// KeyRowsQuery is the statement of KeyRowsTx.
const KeyRowsQuery = keyRows
