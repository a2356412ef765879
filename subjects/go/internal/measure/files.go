package measure

import (
	"bufio"
	"errors"
	"os"

	"rpcgauge/subjects/go/internal/settings"
)

// files are the files of a part's records.
type files struct {
	records *file
	// messages is nil for unary calls.
	messages *file
}

// create creates or empties the files.
func create(part Part) (*files, error) {
	records, err := createFile(part.Records)
	if err != nil {
		return nil, err
	}
	all := &files{records: records}
	if part.Stream != nil {
		if all.messages, err = createFile(part.MessageRecords); err != nil {
			return nil, errors.Join(err, records.Close())
		}
	}
	return all, nil
}

// append appends the records of a slice.
func (f *files) append(made *log) error {
	if f.messages != nil {
		if err := f.messages.append(len(made.messages), func(i int, to []byte) []byte {
			return made.messages[i].Append(to)
		}); err != nil {
			return err
		}
	}
	return f.records.append(len(made.records), func(i int, to []byte) []byte { return made.records[i].Append(to) })
}

func (f *files) close() {
	// Every slice has flushed the files, so nothing can be lost.
	_ = f.records.Close()
	if f.messages != nil {
		_ = f.messages.Close()
	}
}

// file is a file with a buffer.
type file struct {
	*os.File
	buffer *bufio.Writer
}

func createFile(path string) (*file, error) {
	created, err := os.Create(path)
	if err != nil {
		return nil, unwritten(err)
	}
	return &file{created, bufio.NewWriter(created)}, nil
}

// append appends a number of items in the form that encode gives them, and flushes the buffer.
func (f *file) append(number int, encode func(i int, to []byte) []byte) error {
	var bytes []byte
	for i := range number {
		bytes = encode(i, bytes[:0])
		if _, err := f.buffer.Write(bytes); err != nil {
			return unwritten(err)
		}
	}
	if err := f.buffer.Flush(); err != nil {
		return unwritten(err)
	}
	return nil
}

func unwritten(err error) error {
	return settings.Refuse(settings.Machine, "cannot write the records: %v", err)
}
