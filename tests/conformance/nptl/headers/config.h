// Stands in for what glibc's configure makes: the tests ask it only for machines that Comity does not know.
