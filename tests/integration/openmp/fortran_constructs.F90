! Fortran: every construct that gfortran and flang both have, and what one of them has not, for the other. Ends with 1 if a
! result is not the serial one.
module results
  implicit none
  integer :: failures = 0
  integer :: own = 5
  real(8) :: ownarray(4) = 0
  common /block/ ic, rc
  integer :: ic
  real :: rc
  !$omp threadprivate(own, ownarray, /block/)
contains
  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    print *, 'not right: ', what
    !$omp atomic
    failures = failures + 1
  end subroutine
end module

program constructs
  use omp_lib
  use results
  implicit none
  integer :: threads, round
  character(8) :: argument
  interface
    subroutine witness_comity() bind(c)
    end subroutine
  end interface
  call witness_comity()
  call get_command_argument(1, argument)
  read (argument, *) threads
  call omp_set_num_threads(threads)
  do round = 1, 3
    call schedules
    call collapsed
    call reductions
    call tasks
    call dependences
    call loops_of_tasks
    call sharing
    call single_copy
    call private_kept
    call exclusion
    call entries
    call leagues
    call in_order
    call cancelled
    call atomics
    call nested
    call masked_scope
    call task_red
  end do
  if (failures > 0) stop 1
contains
  subroutine schedules
    integer :: i, n, hit(1000)
    integer(8) :: j
    real(8) :: s
    hit = 0
    !$omp parallel
    !$omp do schedule(static)
    do i = 1, 1000
      hit(i) = hit(i) + 1
    end do
    !$omp do schedule(static, 7)
    do i = 1, 1000
      hit(i) = hit(i) + 1
    end do
    !$omp do schedule(dynamic)
    do i = 1, 1000
      hit(i) = hit(i) + 1
    end do
    !$omp do schedule(dynamic, 13)
    do i = 1000, 1, -1
      hit(i) = hit(i) + 1
    end do
    !$omp do schedule(guided)
    do i = 1, 1000
      hit(i) = hit(i) + 1
    end do
    !$omp do schedule(guided, 9)
    do j = 1_8, 1000_8
      hit(j) = hit(j) + 1
    end do
    !$omp do schedule(runtime)
    do i = 1, 1000
      hit(i) = hit(i) + 1
    end do
    !$omp do schedule(auto)
    do i = 1, 1000
      hit(i) = hit(i) + 1
    end do
    !$omp do schedule(nonmonotonic:dynamic, 3)
    do i = 1, 1000
      hit(i) = hit(i) + 1
    end do
    !$omp do schedule(monotonic:dynamic, 3)
    do i = 1, 1000, 2
      hit(i) = hit(i) + 1
      hit(i+1) = hit(i+1) + 1
    end do
    !$omp end do nowait
    !$omp do
    do i = 1, 0
      hit(1) = 99
    end do
    !$omp end parallel
    call check(all(hit == 10), 'schedules')
    n = 0
    !$omp parallel do lastprivate(n) schedule(dynamic, 3)
    do i = 1, 100
      n = i
    end do
    call check(n == 100, 'lastprivate')
    s = 0
    !$omp parallel do simd reduction(+:s)
    do i = 1, 1000
      s = s + i
    end do
    call check(s == 500500, 'do simd')
    n = 5
    s = 0
    !$omp parallel do firstprivate(n) reduction(+:s) num_threads(3) if(threads > 0)
    do i = 1, 10
      s = s + n
    end do
    call check(s == 50, 'firstprivate, if')
  end subroutine

  subroutine collapsed
    integer :: i, j, k, a(10, 11, 12)
    a = 0
    !$omp parallel do collapse(3) schedule(dynamic, 5)
    do k = 1, 12
      do j = 1, 11
        do i = 1, 10
          a(i, j, k) = a(i, j, k) + i + j * 100 + k * 10000
        end do
      end do
    end do
    do k = 1, 12
      do j = 1, 11
        do i = 1, 10
          call check(a(i, j, k) == i + j * 100 + k * 10000, 'collapse')
        end do
      end do
    end do
  end subroutine

  subroutine reductions
    integer :: i, n, m, b, e, x
    logical :: l, o, q, nq
    real(8) :: a(50), s, p
    complex(8) :: c
    integer(8) :: big
    real(8), allocatable :: dyn(:)
    n = 0; m = -huge(m); x = huge(x); b = 0; e = 0
    l = .true.; o = .false.; q = .true.; nq = .false.
    a = 0; s = 0; p = 1; c = 0; big = 0
    allocate (dyn(20))
    dyn = 0
    !$omp parallel do reduction(+:n, s, c, big) reduction(max:m) reduction(min:x) reduction(ior:b) reduction(ieor:e) &
    !$omp reduction(.and.:l) reduction(.or.:o) reduction(*:p) reduction(.eqv.:q) reduction(.neqv.:nq)
    do i = 1, 100
      n = n + i
      s = s + 0.5d0 * i
      c = c + cmplx(i, -i, 8)
      big = big + int(i, 8) * 10000000000_8
      m = max(m, i)
      x = min(x, i)
      b = ior(b, ishft(1, mod(i, 8)))
      e = ieor(e, i)
      l = l .and. i > 0
      o = o .or. i == 50
      if (i <= 10) p = p * 2
      q = q .eqv. .true.
      nq = nq .neqv. .true.
    end do
    call check(n == 5050 .and. s == 2525d0 .and. c == cmplx(5050, -5050, 8) .and. big == 50500000000000_8, 'reduction +')
    call check(m == 100 .and. x == 1 .and. b == 255 .and. e == 100, 'reduction max min ior ieor')
    call check(l .and. o .and. p == 1024 .and. q .and. .not. nq, 'reduction logical, *')
    !$omp parallel do reduction(+:a)
    do i = 1, 500
      a(mod(i, 50) + 1) = a(mod(i, 50) + 1) + 1
    end do
    call check(all(a == 10), 'reduction of an array')
    !$omp parallel reduction(+:dyn)
    !$omp do
    do i = 1, 200
      dyn(mod(i, 20) + 1) = dyn(mod(i, 20) + 1) + 1
    end do
    !$omp end parallel
    call check(all(dyn == 10), 'reduction of an allocatable')
    n = 0
    !$omp parallel
    !$omp sections reduction(+:n)
    n = n + 1
    !$omp section
    n = n + 10
    !$omp section
    n = n + 100
    !$omp end sections
    !$omp end parallel
    call check(n == 111, 'reduction in sections')
  end subroutine

  recursive integer function fib(n) result(f)
    integer, intent(in) :: n
    integer :: a, b
    if (n < 2) then
      f = n
      return
    end if
    !$omp task shared(a) firstprivate(n) mergeable
    a = fib(n - 1)
    !$omp end task
    !$omp task shared(b) if(n > 4) final(n < 3) untied
    b = fib(n - 2)
    !$omp end task
    !$omp taskwait
    f = a + b
  end function

  subroutine tasks
    integer :: f, i, n
    n = 0
    !$omp parallel
    !$omp single
    f = fib(14)
    !$omp taskgroup
    do i = 1, 100
      !$omp task firstprivate(i) priority(i) shared(n)
      !$omp atomic
      n = n + i
      !$omp end task
    end do
    !$omp end taskgroup
    call check(n == 5050, 'taskgroup')
    !$omp taskyield
    !$omp end single
    !$omp end parallel
    call check(f == 377, 'fib')
  end subroutine

  subroutine dependences
    integer :: a, b, c, i, chain, arr(10)
    a = 0; b = 0; c = 0; chain = 0; arr = 0
    !$omp parallel
    !$omp single
    !$omp task depend(out:a) shared(a)
    a = 1
    !$omp end task
    !$omp task depend(in:a) depend(out:b) shared(a, b)
    b = a + 1
    !$omp end task
    !$omp task depend(in:a, b) depend(inout:c) shared(a, b, c)
    c = a + b
    !$omp end task
    do i = 1, 50
      !$omp task depend(inout:chain) firstprivate(i) shared(chain)
      if (chain == i - 1) chain = i
      !$omp end task
    end do
    do i = 1, 10
      !$omp task depend(out:arr(i)) firstprivate(i) shared(arr)
      arr(i) = i
      !$omp end task
    end do
    do i = 1, 10
      !$omp task depend(in:arr(i)) depend(inout:a) firstprivate(i) shared(arr, a)
      a = a + arr(i)
      !$omp end task
    end do
    !$omp taskwait
    !$omp end single
    !$omp end parallel
    call check(a == 56 .and. b == 2 .and. c == 3 .and. chain == 50, 'depend')
  end subroutine

  subroutine loops_of_tasks
    integer :: i, n, hit(100), last
    n = 0
    hit = 0
    !$omp parallel
    !$omp single
    !$omp taskloop grainsize(7) shared(n)
    do i = 1, 100
      !$omp atomic
      n = n + i
    end do
    !$omp taskloop num_tasks(5) shared(hit)
    do i = 1, 100
      hit(i) = hit(i) + 1
    end do
    !$omp taskloop shared(hit) nogroup
    do i = 100, 1, -1
      hit(i) = hit(i) + 1
    end do
    !$omp end single
    !$omp end parallel
    call check(n == 5050 .and. all(hit == 2), 'taskloop')
  end subroutine

  subroutine sharing
    integer :: done(4)
    done = 0
    !$omp parallel sections
    done(1) = done(1) + 1
    !$omp section
    done(2) = done(2) + 1
    !$omp section
    done(3) = done(3) + 1
    !$omp section
    done(4) = done(4) + 1
    !$omp end parallel sections
    call check(all(done == 1), 'parallel sections')
    done = 0
    !$omp parallel
    !$omp sections
    !$omp section
    done(1) = done(1) + 1
    !$omp section
    done(2) = done(2) + 1
    !$omp end sections nowait
    !$omp barrier
    !$omp workshare
    done(3:4) = 1
    !$omp end workshare
    !$omp end parallel
    call check(all(done == 1), 'sections, workshare')
  end subroutine

  subroutine single_copy
    integer :: c, wrong, i, arr(3), n
    real(8), allocatable :: al(:)
    character(5) :: word
    wrong = 0
    n = 0
    !$omp parallel private(c, arr, word) reduction(+:wrong)
    do i = 1, 20
      c = 0
      arr = 0
      word = 'none '
      !$omp single
      c = i
      arr = [i, i + 1, i + 2]
      word = 'words'
      n = n + 1
      !$omp end single copyprivate(c, arr, word)
      if (c /= i .or. any(arr /= [i, i + 1, i + 2]) .or. word /= 'words') wrong = wrong + 1
    end do
    !$omp end parallel
    call check(wrong == 0 .and. n == 20, 'copyprivate')
  end subroutine

  subroutine private_kept
    integer :: wrong
    wrong = 0
    own = 7
    ic = 3
    rc = 1.5
    !$omp parallel copyin(own, ic, rc) reduction(+:wrong)
    if (own /= 7 .or. ic /= 3 .or. rc /= 1.5) wrong = wrong + 1
    own = own + omp_get_thread_num()
    ownarray = omp_get_thread_num()
    ic = omp_get_thread_num()
    !$omp end parallel
    !$omp parallel reduction(+:wrong)
    if (own /= 7 + omp_get_thread_num()) wrong = wrong + 1
    if (any(ownarray /= omp_get_thread_num()) .or. ic /= omp_get_thread_num()) wrong = wrong + 1
    !$omp end parallel
    call check(wrong == 0, 'threadprivate')
    !$omp parallel copyin(own) reduction(+:wrong)
    own = 1
    !$omp single
    own = 42
    !$omp end single copyprivate(own)
    if (own /= 42) wrong = wrong + 1
    !$omp end parallel
    call check(wrong == 0, 'copyprivate of threadprivate')
  end subroutine

  subroutine exclusion
    integer :: i, n, m, k, h
    integer(omp_lock_kind) :: lock, hinted
    integer(omp_nest_lock_kind) :: nest
    n = 0; m = 0; k = 0; h = 0
    call omp_init_lock(lock)
#ifdef __flang__
    call omp_init_lock_with_hint(hinted, omp_sync_hint_contended)
#else
    call omp_init_lock(hinted)
#endif
    call omp_init_nest_lock(nest)
    !$omp parallel private(i)
    do i = 1, 50
      !$omp critical
      n = n + 1
      !$omp end critical
      !$omp critical (named) hint(omp_sync_hint_uncontended)
      k = k + 1
      !$omp end critical (named)
      call omp_set_lock(lock)
      m = m + 1
      call omp_unset_lock(lock)
      do while (.not. omp_test_lock(hinted))
        !$omp taskyield
      end do
      h = h + 1
      call omp_unset_lock(hinted)
      call omp_set_nest_lock(nest)
      if (omp_test_nest_lock(nest) /= 2) call check(.false., 'nest lock')
      call omp_unset_nest_lock(nest)
      call omp_unset_nest_lock(nest)
    end do
    !$omp end parallel
    call omp_destroy_lock(lock)
    call omp_destroy_lock(hinted)
    call omp_destroy_nest_lock(nest)
    call check(n == 50 * threads .and. m == n .and. k == n .and. h == n, 'locks')
  end subroutine

  subroutine entries
    integer(omp_sched_kind) :: kind
    integer :: chunk, n, ids(64)
    real(8) :: start
    character(64) :: format, text
    call check(omp_get_max_threads() == threads, 'max_threads')
    call omp_set_schedule(omp_sched_dynamic, 4)
    call omp_get_schedule(kind, chunk)
    call check(kind == omp_sched_dynamic .and. chunk == 4, 'schedule')
    call omp_set_dynamic(.true.)
    call check(omp_get_dynamic(), 'dynamic')
    call omp_set_dynamic(.false.)
    call check(.not. omp_get_dynamic(), 'dynamic off')
    n = omp_get_max_active_levels()
    call omp_set_max_active_levels(3)
    call check(omp_get_max_active_levels() == 3, 'max_active_levels')
    call omp_set_max_active_levels(n)
    call check(omp_get_supported_active_levels() > 0, 'supported levels')
    call check(omp_get_thread_limit() > 0 .and. omp_get_num_procs() > 0, 'limit')
    call check(omp_get_level() == 0 .and. omp_get_active_level() == 0 .and. .not. omp_in_parallel(), 'outside')
    call check(omp_get_ancestor_thread_num(0) == 0 .and. omp_get_team_size(0) == 1, 'ancestor')
    call check(omp_get_num_devices() == 0 .and. omp_is_initial_device(), 'devices')
    call check(omp_get_num_teams() == 1 .and. omp_get_team_num() == 0, 'teams outside')
    start = omp_get_wtime()
    call check(omp_get_wtime() >= start .and. omp_get_wtick() > 0, 'wtime')
    call check(omp_get_proc_bind() >= 0 .and. omp_get_num_places() >= 0, 'places')
    call check(.not. omp_in_final(), 'final')
    call omp_set_affinity_format('%n of %N')
    n = omp_get_affinity_format(format)
    call check(n == 8 .and. format(1:8) == '%n of %N', 'affinity format')
    n = omp_capture_affinity(text, '%n/%N')
    call check(text(1:3) == '0/1', 'capture affinity')
    !$omp parallel num_threads(2)
    call check(omp_in_parallel() .and. omp_get_num_threads() == 2 .and. omp_get_team_size(1) == 2 .and. omp_get_level() == 1, &
               'inside')
    call check(omp_get_ancestor_thread_num(1) == omp_get_thread_num(), 'ancestor inside')
    !$omp end parallel
  end subroutine

  subroutine leagues
    integer :: n, i, hit(100)
    n = 0
    hit = 0
#ifdef __flang__
    ! its code for a reduction of teams (22.1) adds to the shared variable without synchronisation
    !$omp teams num_teams(3) shared(n)
    !$omp atomic
#else
    !$omp teams num_teams(3) reduction(+:n)
#endif
    n = n + 1
    call check(omp_get_num_teams() == 3, 'num_teams')
    !$omp end teams
    call check(n == 3, 'teams')
    !$omp teams distribute parallel do num_teams(2) thread_limit(3)
    do i = 1, 100
      hit(i) = hit(i) + 1
    end do
    !$omp teams distribute
    do i = 1, 100
      hit(i) = hit(i) + 1
    end do
    n = 0
    !$omp teams distribute parallel do simd reduction(+:n)
    do i = 1, 100
      n = n + i
    end do
    !$omp target map(tofrom: hit)
    hit = hit + 1
    !$omp end target
    !$omp target teams distribute parallel do map(tofrom: hit)
    do i = 1, 100
      hit(i) = hit(i) + 1
    end do
    call check(all(hit == 4) .and. n == 5050, 'distribute, target')
  end subroutine

  subroutine in_order
    integer :: i, next, order(100), c(100, 10), j
    next = 0
    !$omp parallel do ordered schedule(dynamic, 3)
    do i = 1, 100
      !$omp ordered
      next = next + 1
      order(next) = i
      !$omp end ordered
    end do
    call check(all(order == [(i, i = 1, 100)]), 'ordered')
#ifndef __flang__
    c = 0
    !$omp parallel do ordered(1) schedule(static, 1)
    do i = 2, 100
      !$omp ordered depend(sink: i-1)
      c(i, 1) = c(i-1, 1) + 1
      !$omp ordered depend(source)
    end do
    call check(c(100, 1) == 99, 'doacross')
#endif
  end subroutine

  subroutine cancelled
    integer :: i, n
    if (.not. omp_get_cancellation()) return
    n = 0
    !$omp parallel
    !$omp do schedule(dynamic)
    do i = 1, 100000
      if (i == 10) then
        !$omp cancel do
      end if
      !$omp cancellation point do
      !$omp atomic
      n = n + 1
    end do
    !$omp end parallel
    call check(n < 100000, 'cancel do')
    n = 0
    !$omp parallel
    !$omp cancel parallel
    !$omp atomic
    n = n + 1
    !$omp end parallel
    call check(n == 0, 'cancel parallel')
    !$omp parallel
    !$omp sections
    !$omp section
    !$omp cancel sections
    !$omp section
    n = n
    !$omp end sections
    !$omp end parallel
    n = 0
    !$omp parallel
    !$omp single
    !$omp taskgroup
    do i = 1, 1000
      !$omp task shared(n) firstprivate(i)
      if (i == 5) then
        !$omp cancel taskgroup
      end if
      !$omp cancellation point taskgroup
      !$omp atomic
      n = n + 1
      !$omp end task
    end do
    !$omp end taskgroup
    !$omp end single
    !$omp end parallel
    call check(n < 1000, 'cancel taskgroup')
  end subroutine

  subroutine atomics
    integer :: n, v, m
    real(8) :: r
    complex(8) :: c
    integer :: i
    n = 0; r = 0; c = 0; m = 0
    !$omp parallel do private(v)
    do i = 1, 1000
      !$omp atomic
      n = n + 1
      !$omp atomic update
      r = r + 0.5d0
      !$omp atomic capture
      v = m
      m = m + 2
      !$omp end atomic
      !$omp atomic read
      v = n
      !$omp atomic
      m = max(m, 3)
    end do
    call check(n == 1000 .and. r == 500 .and. m >= 2000, "atomic")
  end subroutine

  subroutine nested
    integer :: n, levels
    levels = omp_get_max_active_levels()
    call omp_set_max_active_levels(3)
    n = 0
    !$omp parallel num_threads(2) reduction(+:n)
    !$omp parallel num_threads(3) reduction(+:n)
    n = n + 1
    call check(omp_get_level() == 2, 'level 2')
    !$omp end parallel
    !$omp end parallel
    call check(n == 6, 'nested')
    call omp_set_max_active_levels(levels)
    !$omp parallel proc_bind(close) default(none) shared(n) num_threads(2)
    !$omp atomic
    n = n + 1
    !$omp flush
    !$omp end parallel
    call check(n == 8, 'proc_bind')
  end subroutine

  subroutine masked_scope
    integer :: n, m, s
    n = 0; m = 0; s = 0
    !$omp parallel
    !$omp masked
    n = n + 1
    !$omp end masked
    !$omp master
    n = n + 1
    !$omp end master
    !$omp masked filter(omp_get_num_threads() - 1)
    m = m + 1
    !$omp end masked
#ifndef __flang__
    !$omp scope reduction(+:s)
    s = s + 1
    !$omp end scope
#endif
    !$omp end parallel
    call check(n == 2 .and. m == 1, 'masked')
#ifndef __flang__
    call check(s == threads, 'scope')
#endif
  end subroutine

  subroutine task_red
#ifndef __flang__
    integer :: n, i
    n = 0
    !$omp parallel
    !$omp single
    !$omp taskgroup task_reduction(+:n)
    do i = 1, 100
      !$omp task in_reduction(+:n) firstprivate(i)
      n = n + i
      !$omp end task
    end do
    !$omp end taskgroup
    !$omp end single
    !$omp end parallel
    call check(n == 5050, 'task_reduction')
    n = 0
    !$omp parallel
    !$omp single
    !$omp taskloop reduction(+:n)
    do i = 1, 100
      n = n + i
    end do
    !$omp end single
    !$omp end parallel
    call check(n == 5050, 'taskloop reduction')
#endif
  end subroutine
end program
