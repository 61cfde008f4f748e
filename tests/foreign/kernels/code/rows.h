#define COLUMN(row, column, ld) ((row) + size_t(column) * (ld))
