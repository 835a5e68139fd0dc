! Fortran: the constructs that gfortran makes of other calls, and omp_lib. Ends with 1 if a result is not the serial one.
module results
  implicit none
  integer :: failures = 0
  integer, save :: own = 0
  !$omp threadprivate(own)
contains
  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    print *, 'not right: ', what
    failures = failures + 1
  end subroutine
end module

program fortran
  use omp_lib
  use results
  implicit none
  interface
    subroutine witness_comity() bind(c)
    end subroutine
  end interface
  integer :: threads, round
  character(8) :: argument

  call witness_comity()
  call get_command_argument(1, argument)
  read (argument, *) threads
  call omp_set_num_threads(threads)
  do round = 1, 3
    call loops
    call shared_work
    call exclusion
    call tasks
    call settings
    call kept
  end do
  if (failures > 0) stop 1
contains
  subroutine loops
    integer :: i, total, order(100), next
    integer(8) :: j
    real(8) :: x(1000)
    total = 0
    !$omp parallel do reduction(+:total) schedule(dynamic, 7)
    do i = 1000, 1, -3
      total = total + i
    end do
    call check(total == sum([(i, i = 1000, 1, -3)]), 'do, dynamic, falling')
    total = 0
    !$omp parallel do reduction(+:total) schedule(guided)
    do j = 1_8, 999_8
      total = total + int(j)
    end do
    call check(total == 499500, 'do over integer(8), guided')
    next = 0
    !$omp parallel do ordered schedule(static, 3)
    do i = 1, 100
      !$omp ordered
      next = next + 1
      order(next) = i
      !$omp end ordered
    end do
    call check(all(order == [(i, i = 1, 100)]), 'do, ordered')
    !$omp parallel workshare
    x = 1.5d0
    x(1:500) = x(501:1000) * 2
    !$omp end parallel workshare
    call check(sum(x) == 500 * 4.5d0, 'workshare')
  end subroutine

  subroutine shared_work
    integer :: done(3), copy, wrong, i
    done = 0
    wrong = 0
    !$omp parallel private(copy) reduction(+:wrong)
    !$omp sections
    done(1) = done(1) + 1
    !$omp section
    done(2) = done(2) + 1
    !$omp end sections
    do i = 1, 20
      copy = 0
      !$omp single
      copy = i
      !$omp end single copyprivate(copy)
      if (copy /= i) wrong = wrong + 1
    end do
    !$omp master
    done(3) = done(3) + 1
    !$omp end master
    !$omp end parallel
    call check(all(done == 1) .and. wrong == 0, 'sections, single copyprivate, master')
  end subroutine

  subroutine exclusion
    integer :: i, n, m
    integer(omp_lock_kind) :: lock
    integer(omp_nest_lock_kind) :: nest
    n = 0
    m = 0
    call omp_init_lock(lock)
    call omp_init_nest_lock(nest)
    !$omp parallel private(i)
    do i = 1, 100
      !$omp critical (name)
      n = n + 1
      !$omp end critical (name)
      call omp_set_lock(lock)
      m = m + 1
      call omp_unset_lock(lock)
      call omp_set_nest_lock(nest)
      if (omp_test_nest_lock(nest) /= 2) call check(.false., 'nested lock')
      call omp_unset_nest_lock(nest)
      call omp_unset_nest_lock(nest)
    end do
    !$omp end parallel
    call omp_destroy_lock(lock)
    call omp_destroy_nest_lock(nest)
    call check(n == 100 * threads .and. m == n, 'critical, locks')
  end subroutine

  recursive integer function fib(n) result(f)
    integer, intent(in) :: n
    integer :: a, b
    if (n < 2) then
      f = n
      return
    end if
    !$omp task shared(a)
    a = fib(n - 1)
    !$omp end task
    !$omp task shared(b) if(n > 4)
    b = fib(n - 2)
    !$omp end task
    !$omp taskwait
    f = a + b
  end function

  subroutine tasks
    integer :: f, i, total
    total = 0
    !$omp parallel
    !$omp single
    f = fib(12)
    !$omp taskgroup
    do i = 1, 50
      !$omp task shared(total) firstprivate(i)
      !$omp atomic
      total = total + i
      !$omp end task
    end do
    !$omp end taskgroup
    call check(total == 1275, 'taskgroup')
    !$omp taskloop shared(total) grainsize(5)
    do i = 1, 50
      !$omp atomic
      total = total - i
    end do
    !$omp end single
    !$omp end parallel
    call check(f == 144 .and. total == 0, 'task, taskwait, taskloop')
  end subroutine

  subroutine settings
    integer(omp_sched_kind) :: kind
    integer :: chunk
    real(8) :: start
    call check(omp_get_max_threads() == threads, 'omp_get_max_threads')
    call omp_set_schedule(omp_sched_guided, 5)
    call omp_get_schedule(kind, chunk)
    call check(kind == omp_sched_guided .and. chunk == 5, 'omp_set_schedule')
    call omp_set_dynamic(.true.)
    call check(omp_get_dynamic(), 'omp_set_dynamic')
    call omp_set_dynamic(.false.)
    call check(.not. omp_in_parallel() .and. omp_get_level() == 0, 'omp_in_parallel outside')
    !$omp parallel num_threads(2)
    call check(omp_in_parallel() .and. omp_get_num_threads() == 2 .and. omp_get_team_size(1) == 2, 'omp_in_parallel')
    !$omp end parallel
    start = omp_get_wtime()
    call check(omp_get_wtime() >= start .and. omp_get_wtick() > 0, 'omp_get_wtime')
  end subroutine

  subroutine kept
    own = 7
    !$omp parallel copyin(own)
    own = own + omp_get_thread_num()
    !$omp end parallel
    !$omp parallel
    call check(own == 7 + omp_get_thread_num(), 'threadprivate, copyin')
    !$omp end parallel
  end subroutine
end program
