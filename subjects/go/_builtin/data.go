// The services of the built-in workloads. The generator adds these files to the main package of the built-in set. They
// are not part of this module's packages, because they use types that exist only after generation.
package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"

	"rpcgauge/subjects/go/internal/settings"
)

const (
	mostItems     = 100_000
	keptItems     = 2_000
	firstFollower = 10_000
	rowsFile      = "contract/data/birdstrikes.csv"
	columns       = 14
	firstNumber   = 10
)

// kept checks the length of the response that a server keeps in memory.
func kept(n, most int) error {
	if n > most {
		return settings.Refuse(settings.User, "n is %d: this workload has at most %d", n, most)
	}
	return nil
}

func within(name string, value, least, most int) error {
	if value < least || value > most {
		return fmt.Errorf("%s is %d: it must be %d to %d", name, value, least, most)
	}
	return nil
}

func followerIDs(user int64, n int) ([]int64, error) {
	if user > math.MaxInt64-firstFollower-int64(n) {
		return nil, fmt.Errorf("userId is %d: too many for its followers' ids", user)
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = user + firstFollower + int64(i)
	}
	return ids, nil
}

// row is a row of the workload records: strings, and numbers for numeric cells. An empty cell is nil.
type row struct {
	texts   [firstNumber]*string
	numbers [columns - firstNumber]*int32
}

func (r *row) text(column int) *string  { return r.texts[column] }
func (r *row) number(column int) *int32 { return r.numbers[column-firstNumber] }

func readRows() ([]row, error) {
	file, err := os.Open(rowsFile)
	if err != nil {
		return nil, settings.Refuse(settings.Subject, "cannot read the rows of records: %v", err)
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.FieldsPerRecord = columns
	cells, err := reader.ReadAll()
	if err != nil || len(cells) == 0 {
		return nil, settings.Refuse(settings.Subject, "%s: no rows: %v", rowsFile, err)
	}
	rows := make([]row, len(cells)-1)
	for i, cells := range cells[1:] {
		for column, cell := range cells {
			if cell == "" {
				continue
			}
			if column < firstNumber {
				rows[i].texts[column] = &cell
				continue
			}
			number, err := strconv.ParseInt(cell, 10, 32)
			if err != nil {
				return nil, settings.Refuse(settings.Subject, "%s: %v", rowsFile, err)
			}
			value := int32(number)
			rows[i].numbers[column-firstNumber] = &value
		}
	}
	return rows, nil
}
